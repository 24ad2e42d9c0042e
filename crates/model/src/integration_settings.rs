//! What is set of an integration, when it is made and later.

use crate::app::is_name;
use crate::etag::IfMatch;
use crate::id::AppId;
use crate::integration::{Debounce, IntegrationState, IntegrationType};
use crate::key::{KEY, is_key};
use crate::limits;
use crate::patch::{Change, not_null};
use crate::problem::Faults;
use crate::rate_limit::RateLimits;
use crate::rules::backoff::RetrySchedule;
use crate::rules::masking::{self, authenticates};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// `POST /integrations`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewIntegration {
    /// Its app.
    pub app_id: AppId,
    /// 1 to 200 characters.
    pub name: String,
    /// Protocol.
    pub integration_type: IntegrationType,
    /// Required except for `external`; https, or http to an allowed target.
    #[serde(default)]
    pub endpoint_url: Option<String>,
    /// Absent: no limit, or that of the `rate_limit_key` if other integrations of the app have it already. A different one than theirs is refused:
    /// change theirs with PATCH, which applies to all that share it.
    #[serde(default)]
    pub rate_limit: Option<RateLimits>,
    /// 1 to 255 characters.
    #[serde(default)]
    pub rate_limit_key: Option<String>,
    /// 1 to 10,000, default 50.
    #[serde(default)]
    pub max_concurrency: Option<i32>,
    /// 100 to 3,600,000.
    #[serde(default)]
    pub timeout_ms: Option<i32>,
    /// 1 to 100.
    #[serde(default)]
    pub max_attempts: Option<i16>,
    /// Waits between attempts instead of the deployment's: 1 to 100 of them, each up to 24h, such as `0s,10s,1m`, of which the n-th follows
    /// attempt n and the last one repeats; or `exponential`, 2^n s after attempt n. The deployment's jitter applies to them too, and
    /// `Retry-After` is never shortened.
    #[serde(default)]
    pub retry_schedule: Option<String>,
    /// Up to 1,000 types; absent: all.
    #[serde(default)]
    pub record_types: Option<Vec<String>>,
    /// Up to 50.
    #[serde(default)]
    pub headers: Option<BTreeMap<String, String>>,
    /// Length of the window in seconds, for urgent changes too: 1 to 86,400, default 5; `bundle` only.
    #[serde(default)]
    pub bundle_window_seconds: Option<i32>,
    /// How changes of a record are gathered; `webhook` and `rest` only. Absent: they are sent at once.
    #[serde(default)]
    pub debounce: Option<Debounce>,
    /// Stored encrypted and never shown: headers sent with each request, such as `authorization`.
    #[serde(default)]
    pub credentials: Option<BTreeMap<String, String>>,
    /// Any object. `masked_fields`: up to 100 fields of the app's payloads and records, such as `email` or `customer.phone`, that are masked
    /// wherever they occur, in addition to those with secret-looking names; `*` stands for any name.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
}

/// `PATCH /integrations/{id}`: an absent field is not changed; null sets it to the default of a new integration, so `name`, `endpoint_url` and
/// `state` cannot be null.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IntegrationChanges {
    /// 1 to 200 characters.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub name: Option<String>,
    /// https, or http to an allowed target.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub endpoint_url: Option<String>,
    /// `disabled` switches it off, `active` on; pausing has its own endpoint.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = IntegrationState, required = false))]
    pub state: Option<IntegrationState>,
    /// null: no limit. With a `rate_limit_key`, the new limit applies to all integrations of the app that share it.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<RateLimits>))]
    pub rate_limit: Change<RateLimits>,
    /// null: a limit of its own. With a key that other integrations of the app have, their limit applies, unless `rate_limit` is given, which then
    /// applies to all of them.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub rate_limit_key: Change<String>,
    /// 1 to 10,000; null: 50.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i32>))]
    pub max_concurrency: Change<i32>,
    /// 100 to 3,600,000; null: the deployment's default.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i32>))]
    pub timeout_ms: Change<i32>,
    /// 1 to 100; null: the deployment's default.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i16>))]
    pub max_attempts: Change<i16>,
    /// As in a new integration; null: the deployment's default. Takes effect within two seconds, for attempts that fail after that: a job that waits
    /// for its retry keeps its time.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub retry_schedule: Change<String>,
    /// null: all types.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>))]
    pub record_types: Change<Vec<String>>,
    /// Replaces all; null: none.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<BTreeMap<String, String>>))]
    pub headers: Change<BTreeMap<String, String>>,
    /// Length of the window in seconds, for urgent changes too: 1 to 86,400; null: 5; `bundle` only. Jobs that wait for the end of a longer window
    /// are sent at the end of the new one.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i32>))]
    pub bundle_window_seconds: Change<i32>,
    /// How changes of a record are gathered; null: they are sent at once. A job that gathers changes now keeps its time until the next change.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Debounce>))]
    pub debounce: Change<Debounce>,
    /// Replaces all; null: none.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<BTreeMap<String, String>>))]
    pub credentials: Change<BTreeMap<String, String>>,
    /// Replaces all; null: an empty object.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub metadata: Change<serde_json::Map<String, serde_json::Value>>,
    /// Version that is to be changed; not part of the body.
    #[serde(skip)]
    pub if_match: IfMatch,
}

/// The fault of an integration whose type cannot [debounce](Debounce).
pub const NO_DEBOUNCE: &str =
    "is only for integrations of type webhook or rest: a bundle gathers in its window";

/// The fields that new and changed integrations share, to be checked in one place.
struct Fields<'a> {
    name: Option<&'a str>,
    endpoint_url: Option<&'a str>,
    rate_limit: Option<&'a RateLimits>,
    rate_limit_key: Option<&'a str>,
    max_concurrency: Option<i32>,
    timeout_ms: Option<i32>,
    max_attempts: Option<i16>,
    retry_schedule: Option<&'a str>,
    record_types: Option<&'a [String]>,
    headers: Option<&'a BTreeMap<String, String>>,
    bundle_window_seconds: Option<i32>,
    debounce: Option<&'a Debounce>,
    credentials: Option<&'a BTreeMap<String, String>>,
    metadata: Option<&'a serde_json::Map<String, serde_json::Value>>,
}

impl NewIntegration {
    /// Checks all but the target of `endpoint_url`, which the target guard checks.
    ///
    /// # Errors
    /// Every fault, by field.
    pub fn check(&self) -> Result<(), Faults> {
        let mut faults = Fields {
            name: Some(&self.name),
            endpoint_url: self.endpoint_url.as_deref(),
            rate_limit: self.rate_limit.as_ref(),
            rate_limit_key: self.rate_limit_key.as_deref(),
            max_concurrency: self.max_concurrency,
            timeout_ms: self.timeout_ms,
            max_attempts: self.max_attempts,
            retry_schedule: self.retry_schedule.as_deref(),
            record_types: self.record_types.as_deref(),
            headers: self.headers.as_ref(),
            bundle_window_seconds: self.bundle_window_seconds,
            debounce: self.debounce.as_ref(),
            credentials: self.credentials.as_ref(),
            metadata: self.metadata.as_ref(),
        }
        .faults();
        match (self.integration_type, &self.endpoint_url) {
            (IntegrationType::External, Some(_)) => {
                faults.add("/endpoint_url", "is not used by an external integration: leave it out");
            }
            (IntegrationType::External, None) | (_, Some(_)) => {}
            (_, None) => faults.add("/endpoint_url", "is required: where requests are sent"),
        }
        faults.require(
            self.integration_type == IntegrationType::Bundle || self.bundle_window_seconds.is_none(),
            "/bundle_window_seconds",
            "is only for integrations of type bundle",
        );
        faults.require(
            self.integration_type.may_debounce() || self.debounce.is_none(),
            "/debounce",
            NO_DEBOUNCE,
        );
        faults.into_result()
    }
}

impl IntegrationChanges {
    /// # Errors
    /// Every fault, by field.
    pub fn check(&self) -> Result<(), Faults> {
        let mut faults = Fields {
            name: self.name.as_deref(),
            endpoint_url: self.endpoint_url.as_deref(),
            rate_limit: self.rate_limit.set(),
            rate_limit_key: self.rate_limit_key.set().map(String::as_str),
            max_concurrency: self.max_concurrency.set().copied(),
            timeout_ms: self.timeout_ms.set().copied(),
            max_attempts: self.max_attempts.set().copied(),
            retry_schedule: self.retry_schedule.set().map(String::as_str),
            record_types: self.record_types.set().map(Vec::as_slice),
            headers: self.headers.set(),
            bundle_window_seconds: self.bundle_window_seconds.set().copied(),
            debounce: self.debounce.set(),
            credentials: self.credentials.set(),
            metadata: self.metadata.set(),
        }
        .faults();
        faults.require(
            self.state != Some(IntegrationState::Paused),
            "/state",
            "must be active or disabled: POST …/pause pauses",
        );
        faults.into_result()
    }
}

impl Fields<'_> {
    fn faults(&self) -> Faults {
        let mut faults = Faults::default();
        faults.require(
            self.endpoint_url.is_none_or(|url| limits::ENDPOINT_URL_CHARS.contains(&url.chars().count())),
            "/endpoint_url",
            "must be 1 to 2,000 characters",
        );
        if let Some(name) = self.name {
            faults.require(is_name(name), "/name", "must be 1 to 200 characters without control characters");
        }
        if let Some(Err(part)) = self.rate_limit.map(RateLimits::check) {
            faults.nest("/rate_limit", part);
        }
        if let Some(key) = self.rate_limit_key {
            faults.require(is_key(key), "/rate_limit_key", KEY);
        }
        faults.require_within(self.max_concurrency, &limits::MAX_CONCURRENCY, "/max_concurrency");
        faults.require_within(self.timeout_ms, &limits::TIMEOUT_MS, "/timeout_ms");
        faults.require_within(self.max_attempts, &limits::MAX_ATTEMPTS, "/max_attempts");
        if let Some(Err(fault)) = self.metadata.map(masking::marked) {
            faults.add(format!("/metadata/{}", masking::METADATA_KEY), fault);
        }
        if let Some(schedule) = self.retry_schedule {
            let is_short = limits::RETRY_SCHEDULE_CHARS.contains(&schedule.chars().count());
            match schedule.parse::<RetrySchedule>() {
                Ok(_) => faults.require(is_short, "/retry_schedule", "must be at most 2,000 characters"),
                Err(error) => faults.add("/retry_schedule", error.to_string()),
            }
        }
        faults.require_within(
            self.bundle_window_seconds,
            &limits::BUNDLE_WINDOW_SECONDS,
            "/bundle_window_seconds",
        );
        if let Some(debounce) = self.debounce {
            faults.require_within(Some(debounce.seconds), &limits::DEBOUNCE_SECONDS, "/debounce/seconds");
            let max = *limits::DEBOUNCE_MAX_SECONDS.end();
            faults.require(
                (debounce.seconds..=max).contains(&debounce.max_seconds),
                "/debounce/max_seconds",
                "must be at least seconds, and at most 86,400",
            );
        }
        if let Some(types) = self.record_types {
            faults.require(
                types.len() <= *limits::ITEMS.end(),
                "/record_types",
                "must be at most 1,000 types",
            );
            for (index, _) in types.iter().enumerate().filter(|(_, kind)| !is_key(kind)) {
                faults.add(format!("/record_types/{index}"), KEY);
            }
        }
        for (field, headers) in [("/headers", self.headers), ("/credentials", self.credentials)] {
            let Some(headers) = headers else { continue };
            faults.require(limits::HEADERS.contains(&headers.len()), field, "must be at most 50 headers");
            for (name, value) in headers {
                let at = format!("{field}/{}", crate::json::escape(name));
                if !is_header_name(name) {
                    faults.add(at, "is not a header name (RFC 9110 token, up to 100 characters)");
                } else if is_reserved_header(name) {
                    faults.add(at, "is set by Headgate itself");
                } else if field == "/headers" && authenticates(name) {
                    faults.add(
                        at,
                        "authenticates: give it in /credentials, where it is encrypted and never shown",
                    );
                } else if !is_header_value(value) {
                    faults.add(at, "must be up to 4,000 visible ASCII characters, spaces and tabs");
                }
            }
        }
        faults
    }
}

fn is_header_name(name: &str) -> bool {
    (1..=100).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

fn is_header_value(value: &str) -> bool {
    value.len() <= 4_000 && value.bytes().all(|b| (b' '..=b'~').contains(&b) || b == b'\t')
}

fn is_reserved_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("webhook-")
        || [
            "host",
            "content-length",
            "content-type",
            "transfer-encoding",
            "connection",
            "upgrade",
            "te",
            "trailer",
            "expect",
            "user-agent",
            "x-correlation-id",
            "traceparent",
        ]
        .contains(&name.as_str())
}
