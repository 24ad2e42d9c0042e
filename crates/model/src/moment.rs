//! Times in requests: RFC 3339, whose years have four digits.

use chrono::{DateTime, Datelike, Utc};
use serde::{Deserialize, Deserializer, de::Error};

/// Stricter than chrono, which accepts `+12026-01-01T00:00:00Z`: answered back, other RFC 3339 parsers would refuse it. Use with
/// `#[serde(default, deserialize_with = "moment::optional")]`.
///
/// # Errors
/// Not an RFC 3339 time, or outside the years 0 to 9999 in UTC.
pub fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<DateTime<Utc>>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| {
        read(&text).ok_or_else(|| D::Error::custom("must be an RFC 3339 time, such as 2026-11-23T21:00:00Z"))
    })
    .transpose()
}

fn read(text: &str) -> Option<DateTime<Utc>> {
    let at = DateTime::parse_from_rfc3339(text).ok()?.to_utc();
    (0..=9_999).contains(&at.year()).then_some(at)
}

/// Reads the value of a `datetime-local` field as UTC: `2026-11-20T14:46`, with or without seconds.
#[must_use]
pub fn parse_local(text: &str) -> Option<DateTime<Utc>> {
    ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]
        .into_iter()
        .find_map(|form| chrono::NaiveDateTime::parse_from_str(text, form).ok())
        .map(|at| at.and_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_have_four_digits() {
        for (text, is_read) in [
            ("2026-11-23T21:00:00Z", true),
            ("2026-11-23T21:00:00.123456+05:30", true),
            ("9999-12-31T23:59:59Z", true),
            ("9999-12-31T23:59:59-01:00", false),
            ("+10000-01-01T00:00:00Z", false),
            ("-0001-01-01T00:00:00Z", false),
            ("2026-11-23T21:00:00", false),
            ("noon", false),
        ] {
            assert_eq!(read(text).is_some(), is_read, "{text}");
        }
    }
}
