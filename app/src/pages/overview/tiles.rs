//! The six numbers of the first row, each a link to what it counts.

use crate::{
    format,
    ui::{Delta, Tile, Tone},
};
use chrono::{DateTime, TimeDelta, Utc};
use leptos::prelude::*;
use model::stats::{Snapshot, Totals};

/// The row.
#[component]
pub fn Tiles(
    /// The gauges.
    snapshot: Signal<Snapshot>,
    /// The last hour, oldest first.
    history: Vec<(DateTime<Utc>, Totals)>,
) -> impl IntoView {
    let history = StoredValue::new(history);
    let total = move |read: fn(&Totals) -> i64| Signal::derive(move || snapshot.with(|s| read(&s.totals)));
    // The line ends with what is now.
    let line = move |read: fn(&Totals) -> i64| {
        Signal::derive(move || {
            let now = snapshot.with(|s| read(&s.totals));
            history.with_value(|h| {
                h.iter().map(|(_, totals)| read(totals)).chain([now]).map(|n| n as f64).collect::<Vec<_>>()
            })
        })
    };
    let figure = move |value: Signal<i64>| Signal::derive(move || format::count(value.get()));
    let moved = move |read: fn(&Totals) -> i64, up_is_good: bool| {
        Signal::derive(move || {
            let now = snapshot.with(|s| (s.at, read(&s.totals)));
            history.with_value(|h| delta(h, now, read, up_is_good))
        })
    };
    let width = Signal::derive(move || {
        snapshot.with(|s| s.integrations.iter().map(|g| i64::from(g.max_concurrency)).sum::<i64>())
    });
    let backlog: fn(&Totals) -> i64 = |t| t.backlog;
    let processing: fn(&Totals) -> i64 = |t| t.processing;
    let delivered: fn(&Totals) -> i64 = |t| t.delivered_per_minute;
    let retried: fn(&Totals) -> i64 = |t| t.to_be_retried;
    let dead: fn(&Totals) -> i64 = |t| t.dead_letters;
    let oldest: fn(&Totals) -> i64 = |t| t.oldest_pending_age_seconds.unwrap_or(0);
    view! {
        <section class="tiles" aria-label="Now">
            <Tile
                tone=Tone::Waiting
                label="Backlog"
                figure=figure(total(backlog))
                delta=moved(backlog, false)
                history=line(backlog)
                href="/jobs?status=pending"
            />
            <Tile
                tone=Tone::Processing
                label="Processing"
                figure=figure(total(processing))
                unit=Signal::derive(move || format!("/ {}", format::count(width.get())))
                delta=Signal::derive(move || {
                    let (busy, width) = (snapshot.with(|s| s.totals.processing), width.get().max(1));
                    Delta { text: format!("{} of all slots", format::percent(busy as f64 / width as f64)), is_good: None }
                })
                history=line(processing)
                href="/jobs?status=processing"
            />
            <Tile
                tone=Tone::Delivered
                label="Delivered"
                figure=figure(total(delivered))
                unit="/ min"
                delta=Signal::derive(move || {
                    let failed = snapshot.with(|s| s.totals.failed_per_minute);
                    Delta {
                        text: if failed == 0 {
                            "no failed attempt".to_owned()
                        } else {
                            format::counted(failed, "failed attempt", "failed attempts")
                        },
                        is_good: Some(failed == 0),
                    }
                })
                history=line(delivered)
                href="/jobs?status=completed"
            />
            <Tile
                tone=Tone::Retrying
                label="To be retried"
                figure=figure(total(retried))
                delta=moved(retried, false)
                history=line(retried)
                href="/jobs?status=to_be_retried"
            />
            <Tile
                tone=Tone::Failed
                label="Dead letters"
                figure=figure(total(dead))
                delta=moved(dead, false)
                history=line(dead)
                href="/dead-letters"
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
                    let peak = history.with_value(|h| h.iter().map(|(_, t)| oldest(t)).max().unwrap_or(0));
                    Delta {
                        text: if peak > 0 { format!("peak {}", format::age_seconds(peak)) } else { String::new() },
                        is_good: None,
                    }
                })
                history=line(oldest)
                href="/jobs?status=pending"
            />
        </section>
    }
    .into_any()
}

/// The change over the last five minutes.
fn delta(
    history: &[(DateTime<Utc>, Totals)],
    (at, now): (DateTime<Utc>, i64),
    read: fn(&Totals) -> i64,
    up_is_good: bool,
) -> Delta {
    let Some((then, totals)) = history.iter().rev().find(|(then, _)| at - *then >= TimeDelta::minutes(5))
    else {
        return Delta::default();
    };
    let change = now - read(totals);
    let minutes = (at - *then).num_minutes();
    match change {
        0 => Delta { text: format!("steady for {minutes} min"), is_good: None },
        change => {
            let sign = if change > 0 { "+" } else { "−" };
            let text = format!("{sign}{} in {minutes} min", format::compact(change.abs() as f64));
            Delta { text, is_good: Some((change > 0) == up_is_good) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_is_told_against_five_minutes_ago() {
        let now: DateTime<Utc> = "2026-11-20T12:00:00Z".parse().expect("a time");
        let then = now - TimeDelta::minutes(6);
        let totals = Totals { backlog: 100, ..Totals::default() };
        let history = [(then, totals), (now, totals)];
        for (value, text, is_good) in [
            (100, "steady for 6 min", None),
            (2_000, "+1.9 k in 6 min", Some(false)),
            (40, "−60 in 6 min", Some(true)),
        ] {
            let got = delta(&history, (now, value), |t| t.backlog, false);
            assert_eq!(got, Delta { text: text.to_owned(), is_good });
        }
        assert_eq!(delta(&[], (now, 1), |t| t.backlog, false), Delta::default());
    }
}
