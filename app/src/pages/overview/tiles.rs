//! The six numbers of the first row, each linked to what it counts, with its last hour and the same hour a day before.

use super::deltas::{against_yesterday, delta};
use super::sparks::{Spark, sparks};
use crate::format;
use crate::ui::{Delta, Tile, Tone};
use leptos::prelude::*;
use model::stats::{MinuteTotals, Snapshot, Totals};
use model::views::overview::{LeftOut, Past};

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
