//! Who did what: lines of the audit log.

use crate::id::{AppId, AuditEntryId};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One thing someone did. Outlives the object it is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditEntry {
    /// UUIDv7.
    pub id: AuditEntryId,
    /// When.
    pub at: DateTime<Utc>,
    /// `user`, `api_key`, `admin_key`, `system`, or `nobody` for a refused sign-in.
    pub actor_kind: String,
    /// Which one of them.
    pub actor_id: String,
    /// For people: an e-mail address, a key's name.
    pub actor_name: String,
    /// With which role.
    pub role: String,
    /// The app it was about, if it was about one.
    pub app_id: Option<AppId>,
    /// Such as `integration.pause`.
    pub action: String,
    /// Such as `integration`.
    pub object_kind: String,
    /// Which one.
    pub object_id: Option<String>,
    /// The fields that changed, as they were; secrets are never among them.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub before: Option<Value>,
    /// The fields that changed, as they are now.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub after: Option<Value>,
    /// From which network address.
    pub address: Option<String>,
    /// With which request.
    pub request_id: Option<String>,
}

/// What the audit log is narrowed to; every condition given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema, utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct AuditFilter {
    /// Such as `integration.pause`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// An id of a user or key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<String>,
    /// About one app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_id: Option<AppId>,
    /// Such as `integration`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_kind: Option<String>,
    /// Which one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_id: Option<String>,
}
