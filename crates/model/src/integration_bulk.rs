//! The same change of many integrations.

use crate::id::{AppId, IntegrationId};
use crate::integration::{IntegrationState, IntegrationType};
use crate::problem::Faults;
use crate::rate_limit::RateLimits;
use crate::unknown_name::UnknownName;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

/// At most so many integrations in one call.
pub const MAX_INTEGRATIONS: usize = 1_000;

/// What is done to each integration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownName, parse_err_fn = UnknownName::of)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum IntegrationBulkAction {
    /// Jobs are accepted and wait.
    Pause,
    /// Jobs run again.
    Resume,
    /// Sets this limit, also of integrations that share it by `rate_limit_key`.
    SetLimit,
    /// Removes the limit.
    ClearLimit,
}

impl IntegrationBulkAction {
    /// As it is written on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Which integrations; all given conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IntegrationBulkFilter {
    /// Of one app.
    pub app_id: Option<AppId>,
    /// Of one type.
    pub integration_type: Option<IntegrationType>,
    /// In one state.
    pub state: Option<IntegrationState>,
    /// Part of the name, case-insensitive; 1 to 200 characters.
    pub name: Option<String>,
}

/// `POST /integrations/bulk`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewIntegrationBulk {
    /// What is done to each integration.
    pub action: IntegrationBulkAction,
    /// 1 to 1,000 ids; or give `filter`.
    #[serde(default)]
    pub ids: Option<Vec<IntegrationId>>,
    /// Must match at most 1,000 integrations; an empty filter is refused.
    #[serde(default)]
    pub filter: Option<IntegrationBulkFilter>,
    /// With `set_limit`: one limit, or 1 to 8 that all apply.
    #[serde(default)]
    pub rate_limit: Option<RateLimits>,
    /// Why; with `pause` it is shown with the integration. Up to 500 characters.
    #[serde(default)]
    pub reason: Option<String>,
    /// Only counts.
    #[serde(default)]
    pub dry_run: bool,
}

impl NewIntegrationBulk {
    /// # Errors
    /// Every fault, by field.
    pub fn check(&self) -> Result<(), Faults> {
        let mut faults = Faults::default();
        match (&self.ids, &self.filter) {
            (Some(ids), None) => {
                faults.require((1..=MAX_INTEGRATIONS).contains(&ids.len()), "/ids", "must be 1 to 1,000 ids");
            }
            (None, Some(filter)) => {
                let is_empty = *filter == IntegrationBulkFilter::default();
                faults.require(
                    !is_empty,
                    "/filter",
                    "must have a condition: an empty filter would match all integrations",
                );
                let is_name =
                    filter.name.as_ref().is_none_or(|name| (1..=200).contains(&name.chars().count()));
                faults.require(is_name, "/filter/name", "must be 1 to 200 characters");
            }
            _ => faults.add("", "must have either ids or filter"),
        }
        match (self.action, &self.rate_limit) {
            (IntegrationBulkAction::SetLimit, None) => {
                faults.add("/rate_limit", "is required with set_limit");
            }
            (IntegrationBulkAction::SetLimit, Some(limit)) => {
                if let Err(part) = limit.check() {
                    faults.nest("/rate_limit", part);
                }
            }
            (_, Some(_)) => faults.add("/rate_limit", "is only allowed with set_limit"),
            (_, None) => {}
        }
        let is_short = self.reason.as_ref().is_none_or(|reason| reason.chars().count() <= 500);
        faults.require(is_short, "/reason", "must be at most 500 characters");
        faults.into_result()
    }
}

/// Result of a bulk change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IntegrationBulkOutcome {
    /// Integrations selected by ids or filter.
    pub matched: i64,
    /// Integrations that were changed.
    pub changed: i64,
    /// Integrations that were not changed, with the reason.
    pub skipped: Vec<SkippedIntegration>,
}

/// An integration that was not changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SkippedIntegration {
    /// The integration.
    pub id: IntegrationId,
    /// Why, as a sentence.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_needs_ids_or_a_filter_that_is_not_empty() {
        let bulk = |json: &str| serde_json::from_str::<NewIntegrationBulk>(json).expect("readable").check();
        let id = IntegrationId::generate();
        assert_eq!(bulk(&format!(r#"{{"action": "pause", "ids": ["{id}"]}}"#)), Ok(()));
        assert_eq!(bulk(r#"{"action": "resume", "filter": {"state": "paused"}}"#), Ok(()));
        let limit = r#""rate_limit": {"requests": 2, "per_seconds": 1}"#;
        assert_eq!(
            bulk(&format!(r#"{{"action": "set_limit", "filter": {{"name": "erp"}}, {limit}}}"#)),
            Ok(())
        );
        for (json, pointer) in [
            (r#"{"action": "pause"}"#.to_owned(), ""),
            (r#"{"action": "pause", "ids": []}"#.to_owned(), "/ids"),
            (r#"{"action": "pause", "filter": {}}"#.to_owned(), "/filter"),
            (r#"{"action": "set_limit", "filter": {"name": "erp"}}"#.to_owned(), "/rate_limit"),
            (format!(r#"{{"action": "pause", "filter": {{"name": "erp"}}, {limit}}}"#), "/rate_limit"),
            (
                r#"{"action": "set_limit", "ids": ["ID"], "rate_limit": {"requests": 0, "per_seconds": 1}}"#
                    .replace("ID", &id.to_string()),
                "/rate_limit/requests",
            ),
        ] {
            let faults = bulk(&json).expect_err(&json);
            assert_eq!(
                faults.0.iter().map(|fault| fault.pointer.as_str()).collect::<Vec<_>>(),
                [pointer],
                "{json}"
            );
        }
    }
}
