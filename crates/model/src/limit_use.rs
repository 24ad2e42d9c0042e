//! Use of rate limits over time.

use crate::{id::IntegrationId, unknown_name::UnknownName};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// The period that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum LimitWindow {
    /// 60 minutes in steps of a minute.
    #[default]
    #[serde(rename = "1h")]
    Hour,
    /// 24 hours in steps of 15 minutes.
    #[serde(rename = "24h")]
    Day,
}

impl LimitWindow {
    /// All, in the order a form offers them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// As it is written in URLs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "1h",
            Self::Day => "24h",
        }
    }

    /// Seconds of one step.
    #[must_use]
    pub fn step_seconds(self) -> i32 {
        match self {
            Self::Hour => 60,
            Self::Day => 900,
        }
    }

    /// Number of steps.
    #[must_use]
    pub fn steps(self) -> i32 {
        match self {
            Self::Hour => 60,
            Self::Day => 96,
        }
    }
}

impl std::str::FromStr for LimitWindow {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().copied().find(|window| window.as_str() == text).ok_or(UnknownName)
    }
}

/// One limit over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LimitUse {
    /// Seconds of one step.
    pub step_seconds: i32,
    /// Oldest first, without gaps; the last is incomplete.
    pub steps: Vec<LimitStep>,
    /// When the limit was edited in an integration that uses it, oldest first.
    pub edited_at: Vec<DateTime<Utc>>,
}

/// The use of one of an integration's limits over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LimitOverTime {
    /// Identifies the limit; integrations that share a limit have the same key.
    pub key: String,
    /// Requests currently allowed per window.
    pub limit: i32,
    /// Length of the window in seconds.
    pub per_seconds: i32,
    /// The integrations it applies to.
    pub integration_ids: Vec<IntegrationId>,
    #[serde(flatten)]
    #[expect(missing_docs, reason = "the API document would show it beside the reference")]
    pub used: LimitUse,
}

/// A limit in one step of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LimitStep {
    /// Its beginning.
    pub at: DateTime<Utc>,
    /// Slots given to requests, exact.
    pub given: i64,
    /// Requests that the limit in force then allows in a step.
    pub allowed: f64,
    /// Answers 429 to the integrations that use the limit.
    pub refused: i64,
}

impl LimitStep {
    /// Used part of the limit, 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.allowed > 0.0 { (self.given as f64 / self.allowed).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Whether there were 429 answers although the limit was kept: the external system's limit is lower.
    #[must_use]
    pub fn was_refused_below_limit(&self) -> bool {
        self.refused > 0 && self.given as f64 <= self.allowed.ceil()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_below_our_limit_are_recognised() {
        let step = |given, refused| LimitStep { at: DateTime::UNIX_EPOCH, given, allowed: 600.0, refused };
        assert!(!step(600, 0).was_refused_below_limit());
        assert!(step(600, 1).was_refused_below_limit());
        assert!(!step(601, 1).was_refused_below_limit());
        assert_eq!(step(300, 0).share(), 0.5);
        assert_eq!(LimitStep { allowed: 0.0, ..step(1, 0) }.share(), 0.0);
    }
}
