//! The six numbers of the first row, each linked to what it counts, with its last hour and the same hour a day before.

use super::sparks::{Spark, sparks};
use crate::{
    format,
    ui::{Delta, Tile, Tone},
};
use chrono::{DateTime, TimeDelta, Utc};
use leptos::prelude::*;
use model::{
    stats::{MinuteTotals, Snapshot, Totals},
    views::overview::{LeftOut, Past},
};

#[component]
pub fn Tiles(
    snapshot: Signal<Snapshot>,
    /// What the first snapshot leaves out.
    left_out: Signal<LeftOut>,
    /// Their history.
    past: Past,
    /// On a page about the past, where no list has what the tiles count any more.
    is_past: bool,
) -> impl IntoView {
    let past = StoredValue::new(past);
    let total = move |read: fn(&Totals) -> i64| Signal::derive(move || snapshot.with(|s| read(&s.totals)));
    let figure = move |value: Signal<i64>| Signal::derive(move || format::count(value.get()));
    let moved = move |read: fn(&Totals) -> i64| {
        Signal::derive(move || {
            let now = snapshot.with(|s| (s.at, read(&s.totals)));
            past.with_value(|past| delta(&past.hour, now, read))
        })
    };
    // The line ends with the present value.
    let spark = move |read: fn(&Totals) -> Option<i64>, say: fn(i64) -> String| {
        Memo::new(move |_| {
            past.with_value(|past| snapshot.with(|s| sparks(past, (s.at, &s.totals), read, say)))
        })
    };
    let total_slots = Signal::derive(move || {
        let shown =
            snapshot.with(|s| s.integrations.iter().map(|g| i64::from(g.max_concurrency)).sum::<i64>());
        shown + left_out.get().slots
    });
    let href = move |path: &'static str| if is_past { String::new() } else { path.to_owned() };
    let line = |spark: Memo<Spark>| Signal::derive(move || spark.with(|s| s.line.clone()));
    let ghost = |spark: Memo<Spark>| Signal::derive(move || spark.with(|s| s.ghost.clone()));
    let says = |spark: Memo<Spark>| Signal::derive(move || spark.with(|s| s.says.clone()));
    let backlog = spark(|t| Some(t.backlog), format::count);
    let processing = spark(|t| Some(t.processing), format::count);
    let delivered = spark(|t| Some(t.delivered_per_minute), format::count);
    let retried = spark(|t| Some(t.to_be_retried), format::count);
    let dead = spark(|t| Some(t.dead_letters), format::count);
    let oldest = spark(|t| Some(t.oldest_pending_age_seconds.unwrap_or(0)), format::age_seconds);
    view! {
        <section class="tiles" aria-label=if is_past { "Then" } else { "Now" }>
            <Tile
                tone=Tone::Waiting
                label="Backlog"
                figure=figure(total(|t| t.backlog))
                delta=moved(|t| t.backlog)
                history=line(backlog)
                ghost=ghost(backlog)
                history_says=says(backlog)
                href=href("/jobs?status=pending")
            />
            <Tile
                tone=Tone::Processing
                label="Processing"
                figure=figure(total(|t| t.processing))
                unit=Signal::derive(move || format!("/ {}", format::count(total_slots.get())))
                delta=Signal::derive(move || {
                    let (busy, total_slots) = (snapshot.with(|s| s.totals.processing), total_slots.get().max(1));
                    Delta { text: format!("{} of all slots", format::percent(busy as f64 / total_slots as f64)), is_good: None }
                })
                history=line(processing)
                ghost=ghost(processing)
                history_says=says(processing)
                href=href("/jobs?status=processing")
            />
            <Tile
                tone=Tone::Delivered
                label="Delivered"
                figure=figure(total(|t| t.delivered_per_minute))
                unit="/ min"
                delta=Signal::derive(move || {
                    let failed = snapshot.with(|s| s.totals.failed_per_minute);
                    let against = past.with_value(|past| {
                        snapshot.with(|s| against_yesterday(&past.yesterday, s.at, s.totals.delivered_per_minute))
                    });
                    match (failed, against) {
                        (0, Some(against)) => against,
                        (0, None) => Delta { text: "no failed attempt".to_owned(), is_good: Some(true) },
                        (n, _) => Delta { text: format::counted(n, "failed attempt", "failed attempts"), is_good: Some(false) },
                    }
                })
                history=line(delivered)
                ghost=ghost(delivered)
                history_says=says(delivered)
                href=href("/jobs?status=completed")
            />
            <Tile
                tone=Tone::Retrying
                label="To be retried"
                figure=figure(total(|t| t.to_be_retried))
                delta=moved(|t| t.to_be_retried)
                history=line(retried)
                ghost=ghost(retried)
                history_says=says(retried)
                href=href("/jobs?status=to_be_retried")
            />
            <Tile
                tone=Tone::Failed
                label="Dead letters"
                figure=figure(total(|t| t.dead_letters))
                delta=moved(|t| t.dead_letters)
                history=line(dead)
                ghost=ghost(dead)
                history_says=says(dead)
                href=href("/dead-letters")
            />
            <Tile
                tone=Tone::Limited
                label="Oldest pending"
                figure=Signal::derive(move || {
                    snapshot
                        .with(|s| s.totals.oldest_pending_age_seconds)
                        .map_or_else(|| "–".to_owned(), format::age_seconds)
                })
                delta=Signal::derive(move || {
                    let age = |point: &MinuteTotals| point.totals.oldest_pending_age_seconds.unwrap_or(0);
                    let now = snapshot.with(|s| s.totals.oldest_pending_age_seconds).unwrap_or(0);
                    let peak = past.with_value(|past| past.hour.iter().map(age).max().unwrap_or(0)).max(now);
                    Delta {
                        text: if peak > 0 { format!("peak {}", format::age_seconds(peak)) } else { String::new() },
                        is_good: None,
                    }
                })
                history=line(oldest)
                ghost=ghost(oldest)
                history_says=says(oldest)
                href=href("/jobs?status=pending")
            />
        </section>
    }
    .into_any()
}

/// The change over the last five minutes. More is never good for the numbers this is used for.
fn delta(hour: &[MinuteTotals], (at, now): (DateTime<Utc>, i64), read: fn(&Totals) -> i64) -> Delta {
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
fn against_yesterday(yesterday: &[MinuteTotals], at: DateTime<Utc>, now: i64) -> Option<Delta> {
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
