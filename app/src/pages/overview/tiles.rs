//! The six numbers of the first row, each linked to exactly what it counts, with its last hour and the same hour a day before.

use super::deltas::{against_yesterday, delta};
use super::sparks::{Spark, sparks};
use crate::format;
use crate::state::counted::Counted;
use crate::ui::{Delta, Tile, Tone};
use leptos::prelude::*;
use model::stats::{MinuteTotals, Snapshot, Totals};
use model::views::overview::Past;
use model::worker::Worker;

#[component]
pub fn Tiles(
    snapshot: Signal<Snapshot>,
    /// Processes; `None` for readers who may not see them.
    workers: Signal<Option<Vec<Worker>>>,
    /// The history of the numbers.
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
    let slots = Signal::derive(move || {
        // The snapshot is newer than the list of processes.
        let is_none_running = snapshot.with(|s| s.workers == 0);
        workers.with(|all| all.as_deref().map(|all| if is_none_running { 0 } else { Worker::slots_of(all) }))
    });
    let list = move |counted: Counted| if is_past { String::new() } else { counted.list(None) };
    let delivered_jobs = Signal::derive(move || list(Counted::Delivered(snapshot.with(|s| s.at))));
    let oldest_job = Signal::derive(move || {
        let path = snapshot.with(|s| oldest(&s.totals));
        if is_past { String::new() } else { path.to_owned() }
    });
    let line = |spark: Memo<Spark>| Signal::derive(move || spark.with(|s| s.line.clone()));
    let ghost = |spark: Memo<Spark>| Signal::derive(move || spark.with(|s| s.ghost.clone()));
    let says = |spark: Memo<Spark>| Signal::derive(move || spark.with(|s| s.says.clone()));
    let busy = total(|t| t.processing);
    let busy_moved = moved(|t| t.processing);
    let backlog = spark(|t| Some(t.backlog), format::count);
    let processing = spark(|t| Some(t.processing), format::count);
    let delivered = spark(|t| Some(t.delivered_per_minute), format::count);
    let retried = spark(|t| Some(t.to_be_retried), format::count);
    let dead = spark(|t| Some(t.dead_letters), format::count);
    let ages = spark(|t| Some(t.oldest_pending_age_seconds.unwrap_or(0)), format::age_seconds);
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
                href=list(Counted::Backlog)
            />
            <Tile
                tone=Tone::Processing
                label="Processing"
                figure=figure(busy)
                unit=Signal::derive(move || of_slots(busy.get(), slots.get()))
                delta=Signal::derive(move || {
                    slots.get().map_or_else(|| Delta { is_good: None, ..busy_moved.get() }, |slots| load(busy.get(), slots))
                })
                history=line(processing)
                ghost=ghost(processing)
                history_says=says(processing)
                href=list(Counted::Processing)
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
                href=delivered_jobs
            />
            <Tile
                tone=Tone::Retrying
                label="To be retried"
                figure=figure(total(|t| t.to_be_retried))
                delta=moved(|t| t.to_be_retried)
                history=line(retried)
                ghost=ghost(retried)
                history_says=says(retried)
                href=list(Counted::ToBeRetried)
            />
            <Tile
                tone=Tone::Failed
                label="Dead letters"
                figure=figure(total(|t| t.dead_letters))
                delta=moved(|t| t.dead_letters)
                history=line(dead)
                ghost=ghost(dead)
                history_says=says(dead)
                href=list(Counted::DeadLetters)
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
                history=line(ages)
                ghost=ghost(ages)
                history_says=says(ages)
                href=oldest_job
            />
        </section>
    }
    .into_any()
}

/// Behind the number of jobs being processed: of how many slots. Bundles and workers that take jobs through the API process more jobs than there
/// are slots; then there is nothing to compare with.
fn of_slots(busy: i64, slots: Option<i64>) -> String {
    let slots = slots.filter(|slots| busy <= *slots);
    slots.map_or_else(String::new, |slots| format!("/ {}", format::count(slots)))
}

fn load(busy: i64, slots: i64) -> Delta {
    let text = match slots {
        0 => "no worker is running".to_owned(),
        _ if busy > slots => format!("workers have {}", format::counted(slots, "slot", "slots")),
        _ => format!("{} of worker slots", format::percent(busy as f64 / slots as f64)),
    };
    Delta { text, is_good: None }
}

/// The list that begins with the oldest claimable job. Where nothing is pending, that is a retry that is due.
fn oldest(totals: &Totals) -> &'static str {
    match (totals.backlog, totals.oldest_pending_age_seconds) {
        (0, Some(_)) => "/jobs?status=retrying&sort=oldest",
        _ => "/jobs?status=pending&sort=oldest",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_compared_with_the_slots_of_the_processes() {
        for (busy, slots, unit, text) in [
            (2, 100, "/ 100", "2.0 % of worker slots"),
            (0, 0, "/ 0", "no worker is running"),
            (3, 0, "", "no worker is running"),
            (120, 100, "", "workers have 100 slots"),
        ] {
            let said = (of_slots(busy, Some(slots)), load(busy, slots).text);
            assert_eq!(said, (unit.to_owned(), text.to_owned()), "{busy} of {slots}");
        }
        assert_eq!(of_slots(2, None), "", "for readers who may not see the processes");
    }

    #[test]
    fn the_oldest_job_is_a_retry_where_nothing_is_pending() {
        let of = |backlog, oldest_pending_age_seconds| {
            oldest(&Totals { backlog, oldest_pending_age_seconds, ..Totals::default() })
        };
        assert_eq!(of(0, Some(9)), "/jobs?status=retrying&sort=oldest");
        assert_eq!(of(1, Some(9)), "/jobs?status=pending&sort=oldest");
        assert_eq!(of(0, None), "/jobs?status=pending&sort=oldest");
    }
}
