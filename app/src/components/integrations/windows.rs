//! How far back charts go: the choice of windows, and how their steps and times are written.

use crate::format;
use crate::state::page_url::PageUrl;
use crate::ui::{ChartBucket, ChartData, Segment};
use chrono::{DateTime, TimeDelta, Utc};
use model::stats::Window;

/// The choice as links to the present page with another window.
pub fn window_segments(here: &PageUrl, current: Window) -> Vec<Segment> {
    Window::ALL
        .iter()
        .copied()
        .map(|choice| Segment {
            href: here.clone().settled().with("window", choice.as_str()).to_string(),
            label: words(choice).to_owned(),
            count: None,
            is_current: choice == current,
        })
        .collect()
}

const fn words(window: Window) -> &'static str {
    match window {
        Window::Quarter => "15 min",
        Window::Hour => "1 h",
        Window::SixHours => "6 h",
        Window::Day => "24 h",
        Window::Week => "7 d",
    }
}

/// `minute`, `10 seconds`, `15 minutes`, `2 hours`: what follows `per`.
pub(in crate::components) fn step(seconds: i32) -> String {
    let (n, unit) = match seconds {
        s if s % 3_600 == 0 => (s / 3_600, "hour"),
        s if s % 60 == 0 => (s / 60, "minute"),
        s => (s, "second"),
    };
    if n == 1 { unit.to_owned() } else { format!("{} {unit}s", format::count(n.into())) }
}

/// A bucket's start, as exact as its step and with the day where the chart is long.
pub(in crate::components) fn label(at: DateTime<Utc>, step_seconds: i32, length: TimeDelta) -> String {
    let form = if length > TimeDelta::hours(36) {
        "%a %H:%M"
    } else if step_seconds % 60 == 0 {
        "%H:%M"
    } else {
        "%H:%M:%S"
    };
    at.format(form).to_string()
}

/// A window's buckets with their times and values; the last one is still open.
pub(in crate::components) fn over_time<B>(
    step_seconds: i32,
    buckets: &[B],
    read: impl Fn(&B) -> (DateTime<Utc>, Vec<Option<i64>>),
) -> ChartData {
    let last = buckets.len().saturating_sub(1);
    let length = TimeDelta::seconds(step_seconds.into()) * i32::try_from(last).unwrap_or(0);
    let buckets = buckets
        .iter()
        .enumerate()
        .map(|(n, bucket)| {
            let (at, values) = read(bucket);
            ChartBucket { at, label: label(at, step_seconds, length), values, is_partial: n == last }
        })
        .collect();
    ChartData { buckets, ..ChartData::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_times_are_written_as_people_say_them() {
        let steps: Vec<_> = Window::ALL.iter().copied().map(|window| step(window.step_seconds())).collect();
        assert_eq!(steps, ["10 seconds", "minute", "5 minutes", "15 minutes", "2 hours"]);
        let at: DateTime<Utc> = "2026-11-20T14:00:10Z".parse().expect("a time");
        for (seconds, length, want) in [(10, 1, "14:00:10"), (60, 24, "14:00"), (7_200, 168, "Fri 14:00")] {
            assert_eq!(label(at, seconds, TimeDelta::hours(length)), want);
        }
    }

    #[test]
    fn another_window_keeps_the_rest_of_the_address() {
        let here = PageUrl::parse("/?at=2026-11-20T14:00Z&window=7d&notice=paused");
        let segments = window_segments(&here, Window::Week);
        assert_eq!(segments.len(), 5);
        assert_eq!(segments[0].href, "/?at=2026-11-20T14%3A00Z&window=15m");
        assert!(segments[4].is_current);
    }
}
