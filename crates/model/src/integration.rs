//! Integrations: one app's connection to one external system.

use crate::breaker::Breaker;
use crate::etag::Revised;
use crate::id::{AppId, IntegrationId};
use crate::rate_limit::RateLimits;
use crate::unknown_name::UnknownName;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::{EnumString, IntoStaticStr, VariantArray};

/// Protocol of an integration.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownName, parse_err_fn = UnknownName::of)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum IntegrationType {
    /// One signed POST per job.
    Webhook,
    /// PUT, PATCH and DELETE of a resource per record.
    Rest,
    /// The changes of a time window in one POST.
    Bundle,
    /// Nothing is sent: workers take the jobs through `/assignments`.
    External,
}

impl IntegrationType {
    /// All, in the order a form offers them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether its changes may be debounced.
    #[must_use]
    pub const fn may_debounce(self) -> bool {
        matches!(self, Self::Webhook | Self::Rest)
    }
}

/// Whether an integration's jobs run.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownName, parse_err_fn = UnknownName::of)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum IntegrationState {
    /// Jobs run.
    Active,
    /// Jobs are accepted and wait.
    Paused,
    /// Switched off: changes create no jobs.
    Disabled,
}

impl IntegrationState {
    /// All.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Names of an integration and its app, for lists that have only ids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegrationName {
    /// Its name.
    pub name: String,
    /// Its app.
    pub app_id: AppId,
    /// The app's name.
    pub app_name: String,
}

/// One app's connection to one external system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Integration {
    /// UUIDv7.
    pub id: IntegrationId,
    /// Its app.
    pub app_id: AppId,
    /// For people.
    pub name: String,
    /// Protocol.
    pub integration_type: IntegrationType,
    /// Whether this is the integration `workers`, which every app has.
    pub is_built_in: bool,
    /// Where requests are sent; null for `external`. Query values read `[masked]` for callers that may not configure.
    pub endpoint_url: Option<String>,
    /// Whether jobs run.
    pub state: IntegrationState,
    /// Why it is in that state, if it was put there.
    pub state_reason: Option<String>,
    /// Its circuit breaker: whether jobs are let through, and why.
    #[serde(default)]
    pub breaker: Breaker,
    /// One limit, several, or none.
    pub rate_limit: Option<RateLimits>,
    /// Integrations of an app with the same key share the limit.
    pub rate_limit_key: Option<String>,
    /// Jobs processed at once, over all processes; of a bundle: requests. Default 50.
    pub max_concurrency: i32,
    /// Time limit of one attempt; null: the deployment's default.
    pub timeout_ms: Option<i32>,
    /// Null: the deployment's default.
    pub max_attempts: Option<i16>,
    /// Waits between attempts, such as `0s,10s,1m`, or `exponential`; null: the deployment's default.
    #[serde(default)]
    pub retry_schedule: Option<String>,
    /// Record types that are sent; null: all.
    pub record_types: Option<Vec<String>>,
    /// Sent with every request; headers that authenticate are in `credentials`. Values read `[masked]` for callers that may not configure; portal
    /// keys get none.
    pub headers: BTreeMap<String, String>,
    /// Of a bundle: length of the window in seconds. A window ends at each multiple of it (UTC, the database's clock); all records that changed in
    /// it are sent then, each once, in as few requests as possible (100 items and 1 MB each). Other types: null.
    pub bundle_window_seconds: Option<i32>,
    /// How changes of a record are gathered; null: they are sent at once.
    #[serde(default)]
    pub debounce: Option<Debounce>,
    /// Whether credentials are stored (they are never shown).
    pub has_credentials: bool,
    /// Any data of the platform; portal keys get none.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When it was last changed.
    pub updated_at: DateTime<Utc>,
}

impl Revised for Integration {
    fn updated_at(&self) -> DateTime<Utc> {
        self.updated_at
    }
}

/// The reason of a pause when an operator gives none. Apps see it, so it has no name: that is in the audit log.
pub const PAUSED_BY_HAND: &str = "paused by an operator";
/// Jobs that an integration processes at once.
pub const DEFAULT_MAX_CONCURRENCY: i32 = 50;
/// Window of a bundle, in seconds.
pub const DEFAULT_BUNDLE_WINDOW_SECONDS: i32 = 5;

/// An integration with its signing secret, which is shown once.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IntegrationWithSecret {
    /// The integration.
    #[serde(flatten)]
    pub integration: Integration,
    /// `whsec_…`: signs every request (Standard Webhooks 1.0.0). Shown only in this answer.
    pub signing_secret: String,
}

impl Revised for IntegrationWithSecret {
    fn updated_at(&self) -> DateTime<Utc> {
        self.integration.updated_at
    }
}

/// Gathers changes of a record that follow each other quickly into one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Debounce {
    /// A record's changes are sent after so many seconds without another change: 1 to 3,600. Urgent changes, and those gathered before them, are
    /// sent at once.
    pub seconds: i32,
    /// The first change waits at most so long: from `seconds` to 86,400.
    pub max_seconds: i32,
}
