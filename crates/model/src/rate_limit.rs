//! Rate limits, and how slots are spaced to keep them.

use chrono::{DateTime, Utc};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

use crate::id::{AppId, IntegrationId};
use crate::limits;
use crate::problem::Faults;

/// At most `requests` in any window of `per_seconds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RateLimit {
    /// 1 to 1,000,000.
    pub requests: i32,
    /// 1 to 86,400.
    pub per_seconds: i32,
}

impl RateLimit {
    /// # Errors
    /// Every fault, by field.
    pub fn check(self) -> Result<(), Faults> {
        let mut faults = Faults::default();
        faults.require_within(Some(self.requests), &limits::REQUESTS, "/requests");
        faults.require_within(Some(self.per_seconds), &limits::PER_SECONDS, "/per_seconds");
        faults.into_result()
    }

    /// Microseconds between two slots.
    ///
    /// Slots spaced evenly by `per_seconds / requests` would keep the limit where requests are sent. Stretched by 6 %, they also keep it where
    /// requests arrive, as long as they are delayed by less than 6 % of the window (60 ms of a second). So 94 % of the rate is used, and no sliding
    /// window has more requests than the limit.
    #[must_use]
    pub fn emission_us(self) -> i64 {
        let window = i64::from(self.per_seconds.max(1)) * 1_060_000;
        let requests = i64::from(self.requests.max(1));
        (window + requests - 1) / requests
    }

    /// How late a slot may still be used: two thirds of the 6 % of [`Self::emission_us`], at most 250 ms. A later one is discarded, and another slot
    /// is reserved.
    #[must_use]
    pub fn lateness_us(self) -> i64 {
        (i64::from(self.per_seconds) * 40_000).min(250_000)
    }
}

/// One limit or several, as `POST /integrations` takes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum RateLimits {
    /// One limit.
    One(RateLimit),
    /// Several limits, which all apply.
    Several(Vec<RateLimit>),
}

impl RateLimits {
    /// As a list.
    #[must_use]
    pub fn to_vec(&self) -> Vec<RateLimit> {
        match self {
            Self::One(limit) => vec![*limit],
            Self::Several(limits) => limits.clone(),
        }
    }

    /// `None` for an empty list.
    #[must_use]
    pub fn from_vec(mut limits: Vec<RateLimit>) -> Option<Self> {
        match limits.len() {
            0 => None,
            1 => limits.pop().map(Self::One),
            _ => Some(Self::Several(limits)),
        }
    }

    /// For people: `10 requests per 1 s and 100 requests per 60 s`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let words = |limit: &RateLimit| format!("{} requests per {} s", limit.requests, limit.per_seconds);
        self.to_vec().iter().map(words).collect::<Vec<_>>().join(" and ")
    }

    /// # Errors
    /// Every fault, by field.
    pub fn check(&self) -> Result<(), Faults> {
        match self {
            Self::One(limit) => limit.check(),
            Self::Several(several) => {
                let mut faults = Faults::default();
                faults.require(
                    limits::RATE_LIMITS.contains(&several.len()),
                    "",
                    "must be one limit or 1 to 8 of them",
                );
                for (index, limit) in several.iter().enumerate() {
                    if let Err(part) = limit.check() {
                        faults.nest(&format!("/{index}"), part);
                    }
                }
                faults.into_result()
            }
        }
    }
}

/// Decides by the first token whether it is an object or an array: serde's untagged enums would try both and could not say which field is wrong.
impl<'de> Deserialize<'de> for RateLimits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrSeveral;
        impl<'de> Visitor<'de> for OneOrSeveral {
            type Value = RateLimits;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a limit with requests and per_seconds, or a list of them")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RateLimits, A::Error> {
                RateLimit::deserialize(MapAccessDeserializer::new(map)).map(RateLimits::One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<RateLimits, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(RateLimits::Several)
            }
        }
        deserializer.deserialize_any(OneOrSeveral)
    }
}

/// One limit of one integration, and how much of it is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RateLimitStatus {
    /// The integration.
    pub integration_id: IntegrationId,
    /// The app it belongs to.
    pub app_id: AppId,
    /// The integration's name.
    pub integration_name: String,
    /// Integrations of an app with the same key share the limit; null: the limit is not shared.
    pub rate_limit_key: Option<String>,
    /// Requests allowed per window.
    pub limit: i32,
    /// Requests in the current window.
    pub used: i32,
    /// Length of the window in seconds.
    pub per_seconds: i32,
    /// When the next request may be sent; a time in the past means now.
    pub next_free_at: DateTime<Utc>,
    /// Nothing is sent until this time, because the external system answered 429.
    pub held_until: Option<DateTime<Utc>>,
}

/// Current use of a limit, to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RateLimitUse {
    /// Requests allowed per window.
    pub limit: i32,
    /// Requests in the current window, or in the last one when the current one has just begun.
    pub used: i32,
    /// Length of the window.
    pub per_seconds: i32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sliding_window_has_more_slots_than_the_limit_even_with_late_ones() {
        for (requests, per_seconds) in [(1, 1), (2, 1), (7, 3), (10, 1), (100, 1), (999, 60), (1_000_000, 1)]
        {
            let limit = RateLimit { requests, per_seconds };
            let window = i64::from(per_seconds) * 1_000_000;
            // The first of requests + 1 slots is used as late as allowed, the last on time.
            let span = i64::from(requests) * limit.emission_us() - limit.lateness_us();
            assert!(span >= window, "{limit:?}: {span}");
            let used = window as f64 / limit.emission_us() as f64 / f64::from(requests);
            assert!(used > 0.9 || requests > 900_000, "{limit:?} uses {used}");
        }
    }
}
