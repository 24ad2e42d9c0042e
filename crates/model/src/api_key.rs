//! API keys.

use crate::actor::Role;
use crate::app::is_name;
use crate::id::{ApiKeyId, AppId};
use crate::limits;
use crate::problem::Faults;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// An API key, without its secret part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApiKey {
    /// UUIDv7.
    pub id: ApiKeyId,
    /// For people.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The one app it is bound to; null: all.
    pub app_id: Option<AppId>,
    /// The beginning of the key: enough to recognise it, useless as a credential.
    pub prefix: String,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// Refused from then on; null: never expires.
    pub expires_at: Option<DateTime<Utc>>,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<DateTime<Utc>>,
}

/// A key with its secret, which is shown once.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApiKeyWithSecret {
    /// The key.
    #[serde(flatten)]
    pub api_key: ApiKey,
    /// `hg_<role>_<prefix>_<secret>`: goes into `Authorization: Bearer`. Shown only in this answer.
    pub key: String,
}

/// `POST /api-keys`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewApiKey {
    /// 1 to 200 characters.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// Required for `producer` and `portal`, possible for `worker`, refused for the others.
    #[serde(default)]
    pub app_id: Option<AppId>,
    /// 1 to 315,360,000 (ten years); absent: never expires.
    #[serde(default)]
    pub expires_in_seconds: Option<i64>,
}

impl NewApiKey {
    /// # Errors
    /// Every fault, by field.
    pub fn check(&self) -> Result<(), Faults> {
        let mut faults = Faults::default();
        faults.require(
            is_name(&self.name),
            "/name",
            "must be 1 to 200 characters without control characters",
        );
        match (self.role, self.app_id) {
            (Role::Producer | Role::Portal, None) => {
                faults.add("/app_id", format!("is required: a {} key belongs to one app", self.role));
            }
            (Role::Operator | Role::Support | Role::Auditor, Some(_)) => {
                faults.add("/app_id", format!("must be absent: a key of role {} is for all apps", self.role));
            }
            _ => {}
        }
        faults.require_within(self.expires_in_seconds, &limits::EXPIRES_IN_SECONDS, "/expires_in_seconds");
        faults.into_result()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_one_app_need_its_id_and_keys_of_all_apps_must_not_have_one() {
        for &role in Role::ALL {
            for app_id in [None, Some(AppId::generate())] {
                let key = NewApiKey { name: "k".into(), role, app_id, expires_in_seconds: None };
                let fits = match role {
                    Role::Producer | Role::Portal => app_id.is_some(),
                    Role::Operator | Role::Support | Role::Auditor => app_id.is_none(),
                    Role::Worker => true,
                };
                assert_eq!(key.check().is_ok(), fits, "{role} {app_id:?}");
            }
        }
    }
}
