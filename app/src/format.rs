//! Numbers, durations and moments as the console writes them: units apart, thousands grouped, times in UTC.

use chrono::{DateTime, FixedOffset, SecondsFormat, TimeDelta, Utc};
pub use model::moment::parse_local;

/// `1,204`, and `−1,204` with the sign of the font's figures.
pub fn count(n: i64) -> String {
    model::text::grouped(n).replace('-', "−")
}

/// `999`, and `1,000+` where counting stopped at the limit.
pub fn up_to(n: i64, limit: i64) -> String {
    if n >= limit { format!("{}+", count(limit)) } else { count(n) }
}

/// `940`, `1.9 k`, `12 k`, `3.4 M`: where room is scarce.
pub fn compact(n: f64) -> String {
    let (size, unit) = match n.abs() {
        n if n >= 999_950_000.0 => (1e9, " G"),
        n if n >= 999_950.0 => (1e6, " M"),
        n if n >= 999.5 => (1e3, " k"),
        _ => (1.0, ""),
    };
    let scaled = n / size;
    let decimals = usize::from(scaled.abs() < 9.95 && scaled.fract().abs() > 0.049);
    format!("{scaled:.decimals$}{unit}")
}

/// `1 job`, `1,204 jobs`.
pub fn counted(n: i64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// `3 / 50`: jobs being processed of the maximum. A bundle sends more jobs in one request than may begin at once; then there is
/// nothing to compare with, and only the count is shown.
pub fn of_max(processing: i64, max: i64) -> String {
    if processing > max { count(processing) } else { format!("{} / {}", count(processing), count(max)) }
}

/// A duration with useful precision: `340 ms`, `1.21 s`, `38 s`, `4 m 12 s`, `1 h 12 m`, `3 d 4 h`.
pub fn duration(length: TimeDelta) -> String {
    let ms = length.num_milliseconds().max(0);
    let s = ms / 1_000;
    match s {
        0 => format!("{ms} ms"),
        1..10 if ms % 1_000 == 0 => format!("{s} s"),
        1..10 => format!("{:.2} s", ms as f64 / 1_000.0),
        10..60 => format!("{s} s"),
        60..3_600 => two_units(s / 60, "m", s % 60, "s"),
        3_600..86_400 => two_units(s / 3_600, "h", s % 3_600 / 60, "m"),
        _ => two_units(s / 86_400, "d", s % 86_400 / 3_600, "h"),
    }
}

/// [`duration`] in whole seconds, so that a running age does not flicker.
pub fn age(length: TimeDelta) -> String {
    match length.num_seconds().max(0) {
        s @ 0..10 => format!("{s} s"),
        _ => duration(length),
    }
}

/// As [`age`], from seconds.
pub fn age_seconds(seconds: i64) -> String {
    age(TimeDelta::seconds(seconds.clamp(0, 3_153_600_000)))
}

/// An estimate, rounded to what it can promise: `7 s`, `40 s`, `4 min`, `2 h`, `3 d`.
pub fn eta(seconds: i64) -> String {
    match seconds.max(1) {
        s @ ..10 => format!("{s} s"),
        s @ 10..90 => format!("{} s", (s + 4) / 5 * 5),
        s @ 90..5_400 => format!("{} min", (s + 30) / 60),
        s @ 5_400..172_800 => format!("{} h", (s + 1_800) / 3_600),
        s => format!("{} d", (s + 43_200) / 86_400),
    }
}

/// As [`duration`], from milliseconds.
pub fn milliseconds(ms: i64) -> String {
    duration(TimeDelta::milliseconds(ms.clamp(0, 3_153_600_000_000)))
}

/// The smaller unit is left out when it is 0: `5 m`, `4 m 12 s`.
fn two_units(big: i64, big_unit: &str, small: i64, small_unit: &str) -> String {
    if small == 0 { format!("{big} {big_unit}") } else { format!("{big} {big_unit} {small:02} {small_unit}") }
}

/// `20/s`, `100/min`, `5 per 10 s`.
pub fn limit(requests: i64, per_seconds: i64) -> String {
    match per_seconds {
        1 => format!("{}/s", count(requests)),
        60 => format!("{}/min", count(requests)),
        3_600 => format!("{}/h", count(requests)),
        per => format!("{} per {}", count(requests), age_seconds(per)),
    }
}

/// How long changes of a record are collected before they are sent.
pub fn debounce(quiet_seconds: i64, longest_seconds: i64) -> String {
    format!("until {} s of quiet, {} s at the latest", count(quiet_seconds), count(longest_seconds))
}

/// `43 %`; with a decimal below 10, so that a small share does not read as 0.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if !percent.is_finite() {
        "–".to_owned()
    } else if percent > 0.0 && percent < 9.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// `812 B`, `1.2 kB`, `3.4 MB`.
pub fn bytes(n: u64) -> String {
    let n = n as f64;
    if n < 1_000.0 { format!("{n} B") } else { format!("{}B", compact(n)) }
}

/// `4 m ago`, `in 38 s`, `just now`.
pub fn relative(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let passed = now - at;
    if passed < TimeDelta::zero() {
        // Less than a second ahead still reads as a wait, never as `in 0 s`.
        format!("in {}", coarse((-passed).max(TimeDelta::seconds(1))))
    } else if passed < TimeDelta::seconds(2) {
        "just now".to_owned()
    } else {
        format!("{} ago", coarse(passed))
    }
}

/// One unit; two only where the second one still matters.
fn coarse(length: TimeDelta) -> String {
    let s = length.num_seconds();
    match s {
        ..60 => format!("{s} s"),
        60..600 => two_units(s / 60, "m", s % 60, "s"),
        600..3_600 => format!("{} m", s / 60),
        3_600..36_000 => two_units(s / 3_600, "h", s % 3_600 / 60, "m"),
        36_000..172_800 => format!("{} h", s / 3_600),
        _ => format!("{} d", s / 86_400),
    }
}

/// `14:46:02`, or `20 Nov 14:46:02` when it is not the day of `now`.
pub fn clock(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    if at.date_naive() == now.date_naive() {
        at.format("%H:%M:%S").to_string()
    } else {
        at.format("%-d %b %H:%M:%S").to_string()
    }
}

/// `2026-11-20 14:46:02 UTC`, for tooltips.
pub fn full(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// `2026-11-20 15:46:02 +01:00 · 14:46:02 UTC`: in the reader's zone and in UTC; only UTC where both are the same.
pub fn full_with_utc(at: DateTime<Utc>, offset: FixedOffset) -> String {
    if offset.local_minus_utc() == 0 {
        return full(at);
    }
    let local = at.with_timezone(&offset);
    let utc = if local.date_naive() == at.date_naive() { "%H:%M:%S UTC" } else { "%-d %b %H:%M:%S UTC" };
    format!("{} · {}", local.format("%Y-%m-%d %H:%M:%S %:z"), at.format(utc))
}

/// Reads a time in an address: `2026-11-22T06:13Z`, or as a `datetime-local` field or RFC 3339 writes it.
pub fn parse_moment(text: &str) -> Option<DateTime<Utc>> {
    parse_local(text.strip_suffix('Z').unwrap_or(text)).or_else(|| text.parse().ok())
}

/// A minute for an address: `2026-11-22T06:13Z`.
pub fn minute(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%MZ").to_string()
}

/// `06:13 UTC on 22 November`.
pub fn moment(at: DateTime<Utc>) -> String {
    at.format("%H:%M UTC on %-d %B").to_string()
}

pub fn rfc3339(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_in_the_readers_zone_is_followed_by_utc() {
        let at: DateTime<Utc> = "2026-11-20T23:46:02Z".parse().expect("a time");
        let full = |hours: i32| full_with_utc(at, FixedOffset::east_opt(hours * 3_600).expect("an offset"));
        assert_eq!(full(0), "2026-11-20 23:46:02 UTC");
        assert_eq!(full(-5), "2026-11-20 18:46:02 -05:00 · 23:46:02 UTC");
        assert_eq!(full(1), "2026-11-21 00:46:02 +01:00 · 20 Nov 23:46:02 UTC");
    }

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().expect("a time")
    }

    #[test]
    fn counts_are_grouped_by_thousands() {
        for (n, want) in [
            (0, "0"),
            (7, "7"),
            (999, "999"),
            (1_204, "1,204"),
            (1_234_567, "1,234,567"),
            (-12_480, "−12,480"),
        ] {
            assert_eq!(count(n), want);
        }
    }

    #[test]
    fn compact_counts_keep_two_significant_digits() {
        for (n, want) in [
            (0.0, "0"),
            (940.0, "940"),
            (1_900.0, "1.9 k"),
            (12_480.0, "12 k"),
            (3_000.0, "3 k"),
            (3_400_000.0, "3.4 M"),
        ] {
            assert_eq!(compact(n), want);
        }
    }

    #[test]
    fn durations_have_useful_precision() {
        for (ms, want) in [
            (0, "0 ms"),
            (340, "340 ms"),
            (1_210, "1.21 s"),
            (5_000, "5 s"),
            (38_400, "38 s"),
            (252_000, "4 m 12 s"),
            (182_000, "3 m 02 s"),
            (1_440_000, "24 m"),
            (4_320_000, "1 h 12 m"),
            (273_600_000, "3 d 04 h"),
            (-5, "0 ms"),
        ] {
            assert_eq!(milliseconds(ms), want);
        }
        assert_eq!(age_seconds(3), "3 s");
    }

    #[test]
    fn relative_times_distinguish_past_and_future() {
        let now = at("2026-11-20T14:46:02Z");
        for (then, want) in [
            ("2026-11-20T14:46:02Z", "just now"),
            ("2026-11-20T14:45:24Z", "38 s ago"),
            ("2026-11-20T14:41:50Z", "4 m 12 s ago"),
            ("2026-11-20T14:22:02Z", "24 m ago"),
            ("2026-11-20T12:30:02Z", "2 h 16 m ago"),
            ("2026-11-17T12:30:02Z", "3 d ago"),
            ("2026-11-20T14:46:02.300Z", "in 1 s"),
            ("2026-11-20T14:46:40Z", "in 38 s"),
        ] {
            assert_eq!(relative(at(then), now), want, "{then}");
        }
    }

    #[test]
    fn estimates_are_round() {
        for (seconds, want) in [
            (0, "1 s"),
            (7, "7 s"),
            (38, "40 s"),
            (100, "2 min"),
            (540, "9 min"),
            (7_200, "2 h"),
            (259_200, "3 d"),
        ] {
            assert_eq!(eta(seconds), want);
        }
    }

    #[test]
    fn a_clock_time_has_the_day_only_when_it_is_not_today() {
        let now = at("2026-11-20T14:46:02Z");
        assert_eq!(clock(at("2026-11-20T01:02:03Z"), now), "01:02:03");
        assert_eq!(clock(at("2026-11-09T01:02:03Z"), now), "9 Nov 01:02:03");
        assert_eq!(full(now), "2026-11-20 14:46:02 UTC");
    }

    #[test]
    fn a_time_in_an_address_is_read_back() {
        let then = at("2026-11-22T06:13:00Z");
        for text in
            ["2026-11-22T06:13Z", "2026-11-22T06:13", "2026-11-22T06:13:00Z", "2026-11-22T07:13:00+01:00"]
        {
            assert_eq!(parse_moment(text), Some(then), "{text}");
        }
        for text in ["", "Z", "yesterday", "2026-11-22", "2026-13-22T06:13Z"] {
            assert_eq!(parse_moment(text), None, "{text}");
        }
        assert_eq!(minute(then), "2026-11-22T06:13Z");
        assert_eq!(moment(then), "06:13 UTC on 22 November");
    }

    #[test]
    fn limits_percents_and_sizes_read_as_people_say_them() {
        for (requests, per, want) in [(20, 1, "20/s"), (1_000, 60, "1,000/min"), (5, 10, "5 per 10 s")] {
            assert_eq!(limit(requests, per), want);
        }
        for (share, want) in [(0.0, "0 %"), (0.004, "0.4 %"), (0.43, "43 %"), (1.0, "100 %"), (f64::NAN, "–")]
        {
            assert_eq!(percent(share), want);
        }
        for (n, want) in [(0, "0 B"), (812, "812 B"), (1_200, "1.2 kB"), (3_400_000, "3.4 MB")] {
            assert_eq!(bytes(n), want);
        }
        assert_eq!(counted(1, "job", "jobs"), "1 job");
    }
}
