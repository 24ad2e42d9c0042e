//! Durations: text such as `5m` in settings, milliseconds on the wire and in rows.

use std::time::Duration;

/// Parses `250ms`, `30s`, `5m`, `2h`, `7d`: a whole number and one unit.
#[must_use]
pub fn parse(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let unit_ms: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(unit_ms).map(Duration::from_millis)
}

/// For people: `30 s`, and `200 ms` where whole seconds do not say it.
#[must_use]
pub fn words(duration: Duration) -> String {
    if duration < Duration::from_secs(1) || duration.subsec_millis() != 0 {
        format!("{} ms", duration.as_millis())
    } else {
        format!("{} s", duration.as_secs())
    }
}

/// Whole milliseconds, saturating.
#[must_use]
pub fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// From milliseconds of a row; negative becomes zero.
#[must_use]
pub fn from_millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
