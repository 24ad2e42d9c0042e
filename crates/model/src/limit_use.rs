//! How rate limits were used over time.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// How long back it is looked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// All, as a control offers them.
    pub const ALL: [Self; 2] = [Self::Hour, Self::Day];

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

    /// Steps.
    #[must_use]
    pub fn steps(self) -> i32 {
        match self {
            Self::Hour => 60,
            Self::Day => 96,
        }
    }
}

impl std::str::FromStr for LimitWindow {
    type Err = crate::integration::UnknownName;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|window| window.as_str() == text).ok_or(crate::integration::UnknownName)
    }
}

/// One limit over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LimitUse {
    /// Seconds of one step.
    pub step_seconds: i32,
    /// Oldest first, none left out; the last is not complete yet.
    pub steps: Vec<LimitStep>,
    /// When the limit of an integration that passes it was edited, oldest first.
    pub edited_at: Vec<DateTime<Utc>>,
}

/// A limit in one step of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LimitStep {
    /// Its beginning.
    pub at: DateTime<Utc>,
    /// Send times given, exact.
    pub given: i64,
    /// Requests that the limit in force then allows in a step.
    pub allowed: f64,
    /// Answers 429 of the integrations that pass the limit.
    pub refused: i64,
}

impl LimitStep {
    /// Used of allowed: 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.allowed > 0.0 { (self.given as f64 / self.allowed).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Whether they said "too many requests" although we kept to the limit: theirs is lower than ours.
    #[must_use]
    pub fn was_refused_below_limit(&self) -> bool {
        self.refused > 0 && self.given as f64 <= self.allowed.ceil()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hatch_means_that_they_refused_what_our_limit_allowed() {
        let step = |given, refused| LimitStep { at: DateTime::UNIX_EPOCH, given, allowed: 600.0, refused };
        assert!(!step(600, 0).was_refused_below_limit());
        assert!(step(600, 1).was_refused_below_limit());
        assert!(!step(601, 1).was_refused_below_limit());
        assert_eq!(step(300, 0).share(), 0.5);
        assert_eq!(LimitStep { allowed: 0.0, ..step(1, 0) }.share(), 0.0);
    }
}
