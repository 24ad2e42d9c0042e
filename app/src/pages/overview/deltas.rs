//! How a number has changed: over the last minutes, and against the day before.

use crate::{format, ui::Delta};
use chrono::{DateTime, TimeDelta, Utc};
use model::stats::{MinuteTotals, Totals};

/// The change over the last five minutes. More is never good for the numbers this is used for.
pub fn delta(hour: &[MinuteTotals], (at, now): (DateTime<Utc>, i64), read: fn(&Totals) -> i64) -> Delta {
    let Some(then) = hour.iter().rev().find(|then| at - then.at >= TimeDelta::minutes(5)) else {
        return Delta::default();
    };
    let change = now - read(&then.totals);
    let minutes = (at - then.at).num_minutes();
    match change {
        0 => Delta { text: format!("steady for {minutes} min"), is_good: None },
        change => {
            let sign = if change > 0 { "+" } else { "−" };
            let text = format!("{sign}{} in {minutes} min", format::compact(change.abs() as f64));
            Delta { text, is_good: Some(change < 0) }
        }
    }
}

/// The present rate against that of the same minute a day before.
pub fn against_yesterday(yesterday: &[MinuteTotals], at: DateTime<Utc>, now: i64) -> Option<Delta> {
    let then = yesterday.last().filter(|then| at - then.at < TimeDelta::hours(24) + TimeDelta::minutes(3))?;
    let before = then.totals.delivered_per_minute;
    (before > 0).then(|| {
        let change = (now - before) as f64 / before as f64;
        let sign = if change < 0.0 { "−" } else { "+" };
        Delta { text: format!("{sign}{} vs. a day ago", format::percent(change.abs())), is_good: None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes_ago: i64) -> DateTime<Utc> {
        let now: DateTime<Utc> = "2026-11-20T12:00:00Z".parse().expect("a time");
        now - TimeDelta::minutes(minutes_ago)
    }

    #[test]
    fn a_delta_compares_with_five_minutes_ago() {
        let totals = Totals { backlog: 100, ..Totals::default() };
        let history = [MinuteTotals { at: at(6), totals }, MinuteTotals { at: at(0), totals }];
        for (value, text, is_good) in [
            (100, "steady for 6 min", None),
            (2_000, "+1.9 k in 6 min", Some(false)),
            (40, "−60 in 6 min", Some(true)),
        ] {
            let got = delta(&history, (at(0), value), |t| t.backlog);
            assert_eq!(got, Delta { text: text.to_owned(), is_good });
        }
        assert_eq!(delta(&[], (at(0), 1), |t| t.backlog), Delta::default());
    }

    #[test]
    fn yesterday_is_compared_only_when_it_was_recorded() {
        let totals = Totals { delivered_per_minute: 200, ..Totals::default() };
        let then = |minutes: i64| [MinuteTotals { at: at(24 * 60 + minutes), totals }];
        let text = |minutes: i64, now| against_yesterday(&then(minutes), at(0), now).map(|delta| delta.text);
        assert_eq!(text(0, 208).as_deref(), Some("+4.0 % vs. a day ago"));
        assert_eq!(text(1, 100).as_deref(), Some("−50 % vs. a day ago"));
        assert_eq!(text(10, 100), None, "too long before");
        assert_eq!(against_yesterday(&[], at(0), 5), None);
    }
}
