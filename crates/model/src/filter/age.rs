//! Ages as in query strings: `15m`, `2h`, `7d`.

use crate::duration;
use chrono::TimeDelta;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::{fmt, str::FromStr, time::Duration};

/// Ten years: retention leaves no older jobs.
const MAX_AGE: Duration = Duration::from_secs(10 * 365 * 86_400);

/// A time span before now, up to ten years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(value_type = String, example = "15m", pattern = "^[0-9]+(ms|s|m|h|d)$"))]
pub struct Age(Duration);

/// Not an age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number and a unit, such as 30s, 15m, 2h or 7d")]
pub struct BadAge;

impl Age {
    /// An hour.
    pub const HOUR: Self = Self(Duration::from_secs(3_600));

    /// To subtract from a time.
    #[must_use]
    pub fn delta(self) -> TimeDelta {
        TimeDelta::milliseconds(duration::millis(self.0))
    }

    /// For people: `an hour`, `15 minutes`.
    #[must_use]
    pub fn in_words(self) -> String {
        let (n, unit) = self.in_units();
        let (one, many) = match unit {
            "d" => ("a day", "days"),
            "h" => ("an hour", "hours"),
            "m" => ("a minute", "minutes"),
            "s" => ("a second", "seconds"),
            _ => ("a millisecond", "milliseconds"),
        };
        if n == 1 { one.to_owned() } else { format!("{n} {many}") }
    }

    /// In the largest unit that is a whole number.
    fn in_units(self) -> (u128, &'static str) {
        let ms = self.0.as_millis();
        [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)]
            .into_iter()
            .find(|(_, unit)| ms > 0 && ms.is_multiple_of(*unit))
            .map_or((ms, "ms"), |(name, unit)| (ms / unit, name))
    }
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, unit) = self.in_units();
        write!(f, "{n}{unit}")
    }
}

impl FromStr for Age {
    type Err = BadAge;
    fn from_str(text: &str) -> Result<Self, BadAge> {
        duration::parse(text.trim()).filter(|age| *age <= MAX_AGE).map(Self).ok_or(BadAge)
    }
}

impl Serialize for Age {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Age {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_reads_back_in_its_largest_unit() {
        for (text, shown, words) in [
            ("15m", "15m", "15 minutes"),
            ("60m", "1h", "an hour"),
            ("7d", "7d", "7 days"),
            ("1s", "1s", "a second"),
            ("1500ms", "1500ms", "1500 milliseconds"),
            ("0s", "0ms", "0 milliseconds"),
        ] {
            let age: Age = text.parse().unwrap();
            assert_eq!((age.to_string().as_str(), age.in_words().as_str()), (shown, words), "{text}");
            assert_eq!(age.to_string().parse(), Ok(age));
        }
        for text in ["", "1", "h", "-1h", "1 h", "2 hours", "99999d", "18446744073709551615d"] {
            assert_eq!(text.parse::<Age>(), Err(BadAge), "{text}");
        }
    }
}
