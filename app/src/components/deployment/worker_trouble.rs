//! Worker processes, shown only when something is wrong with them.

use crate::format;
use crate::ui::{Glyph, Link, Pill, Tone};
use leptos::prelude::*;
use model::worker::{LeaseState, Worker};

/// One line above what needs attention; nothing while all is well.
#[component]
pub fn WorkerTrouble(
    /// Processes; `None`: only their count is known.
    #[prop(into)]
    workers: Signal<Option<Vec<Worker>>>,
    /// How many are alive.
    #[prop(into)]
    count: Signal<i64>,
    /// Adds a link to the list of workers.
    #[prop(optional)]
    links: bool,
) -> impl IntoView {
    let trouble = Memo::new(move |_| workers.with(|workers| trouble(workers.as_deref(), count.get())));
    move || {
        trouble.get().map(|(word, sentence)| {
            view! {
                <div class="att">
                    <div class="who">
                        "Workers"
                        <Pill
                            tone=Signal::stored(Tone::Failed)
                            glyph=Signal::stored(Glyph::Alert)
                            label=Signal::stored(word.to_owned())
                        />
                    </div>
                    <p class="why">{sentence}</p>
                    {links
                        .then(|| {
                            view! {
                                <div class="act">
                                    <Link href="/workers" class="link type-label">
                                        "See workers"
                                    </Link>
                                </div>
                            }
                        })}
                </div>
            }
        })
    }
}

fn trouble(workers: Option<&[Worker]>, count: i64) -> Option<(&'static str, String)> {
    if count == 0 {
        return Some(("None running", "No worker is running: jobs wait until one starts.".to_owned()));
    }
    let workers = workers.filter(|workers| !workers.is_empty())?;
    let all = format::counted(i64::try_from(workers.len()).unwrap_or(i64::MAX), "worker", "workers");
    let many = |n: usize| format::count(i64::try_from(n).unwrap_or(i64::MAX));
    let is = |state: LeaseState| workers.iter().filter(|worker| worker.lease == state).count();
    let (late, lost) = (is(LeaseState::Late), is(LeaseState::Lost));
    let draining =
        workers.iter().filter(|worker| worker.is_draining && worker.lease == LeaseState::Live).count();
    if late > 0 {
        let text = format!(
            "{} of {all} missed their last heartbeats. Other workers take over their jobs when the leases end.",
            many(late)
        );
        return Some(("Late", text));
    }
    if lost > 0 {
        let text = format!("{} of {all} died. Other workers took over their jobs.", many(lost));
        return Some(("Lost", text));
    }
    if draining == workers.len() {
        let text = match draining {
            1 => "The only worker is draining and claims no more jobs: new ones wait.".to_owned(),
            _ => format!("All {all} are draining and claim no more jobs: new ones wait."),
        };
        return Some(("All draining", text));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{DateTime, TimeDelta, Utc};
    use model::id::WorkerId;

    #[test]
    fn workers_are_mentioned_only_when_something_is_wrong() {
        let now: DateTime<Utc> = "2026-11-20T12:00:00Z".parse().expect("a time");
        let worker = |seconds_ago, is_draining| Worker {
            id: WorkerId::generate(),
            host: "h".to_owned(),
            pid: 1,
            version: "1".to_owned(),
            program: None,
            job_types: None,
            slots: 10,
            busy: 0,
            is_draining,
            is_leader: false,
            lease: LeaseState::of(seconds_ago as f64, 30.0),
            started_at: now,
            heartbeat_at: now - TimeDelta::seconds(seconds_ago),
        };
        let word = |workers: Option<&[Worker]>, count| trouble(workers, count).map(|(word, _)| word);
        assert_eq!(word(None, 3), None);
        assert_eq!(word(None, 0), Some("None running"));
        assert_eq!(word(Some(&[worker(1, false), worker(1, true)]), 2), None, "one that drains is a deploy");
        assert_eq!(word(Some(&[worker(1, true)]), 1), Some("All draining"));
        assert_eq!(word(Some(&[worker(20, false), worker(40, false)]), 2), Some("Late"));
        assert_eq!(word(Some(&[worker(40, false), worker(1, false)]), 1), Some("Lost"));
    }
}
