//! One process in the list.

use super::verdict;
use crate::format;
use crate::ui::{Ago, Glyph, LinkButton, Meter, Pill, Tone};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::worker::{LeaseState, Worker};

/// Each cell updates by itself.
#[component]
pub fn Row(
    /// The process as it was last seen, and when.
    row: Memo<(Worker, DateTime<Utc>)>,
    may_drain: bool,
) -> impl IntoView {
    let first = row.get_untracked().0;
    let state = Memo::new(move |_| row.with(|(worker, _)| style(worker)));
    let busy = Memo::new(move |_| row.with(|(worker, _)| (worker.busy, worker.slots)));
    let heartbeat =
        Memo::new(move |_| row.with(|(worker, read_at)| format::age(*read_at - worker.heartbeat_at)));
    let is_leader = Memo::new(move |_| row.with(|(worker, _)| worker.is_leader));
    let may_be_drained =
        Memo::new(move |_| row.with(|(worker, _)| !worker.is_draining && worker.lease != LeaseState::Lost));
    let name = verdict::name(&first);
    let ask = format!("/workers?drain={}", first.id);
    view! {
        <tr>
            <td class="what">
                <span class="font-medium" title=first.id.to_string()>{name.clone()}</span>
                {move || {
                    is_leader
                        .get()
                        .then(|| {
                            view! {
                                " "
                                <span
                                    class="type-label text-accent font-semibold"
                                    title="Runs the deployment's maintenance; another process takes over when it stops"
                                >
                                    "leader"
                                </span>
                            }
                        })
                }}
            </td>
            <td class="state">
                <Pill
                    tone=Signal::derive(move || state.get().0)
                    glyph=Signal::derive(move || state.get().1)
                    label=Signal::derive(move || state.get().2.to_owned())
                />
            </td>
            <td class=move || if busy.get().0 == 0 { "n zero" } else { "n" } data-label="slots in use">
                <Meter
                    share=Signal::derive(move || f64::from(busy.get().0) / f64::from(busy.get().1.max(1)))
                    tone=Tone::Processing
                />
                {move || {
                    let (busy, slots) = busy.get();
                    format!("{} of {}", format::count(busy.into()), format::count(slots.into()))
                }}
            </td>
            <td class="n" data-label="heartbeat">{move || format!("{} ago", heartbeat.get())}</td>
            <td class="first" data-label="version">{first.version.clone()}</td>
            <td class="when text-muted">
                <Ago at=first.started_at now=Signal::derive(move || row.with(|(_, at)| *at)) />
            </td>
            <td class="rest text-muted">{does(&first)}</td>
            {may_drain
                .then(|| {
                    view! {
                        <td class="actions">
                            {move || {
                                may_be_drained
                                    .get()
                                    .then(|| {
                                        view! {
                                            <LinkButton href=ask.clone() says=format!("Drain {name}")>
                                                "Drain"
                                            </LinkButton>
                                        }
                                    })
                            }}
                        </td>
                    }
                })}
        </tr>
    }
    .into_any()
}

/// Colour, icon and word of a process's state.
///
/// A process that drains is never called drained: it learns of it with its next heartbeat and claims until then, and the jobs that are known
/// of it are those of its last heartbeat.
fn style(worker: &Worker) -> (Tone, Glyph, &'static str) {
    match worker.lease {
        LeaseState::Lost => (Tone::Failed, Glyph::Cross, "Lost"),
        LeaseState::Late => (Tone::Retrying, Glyph::Clock, "Late"),
        LeaseState::Live if worker.is_draining => (Tone::Paused, Glyph::Pause, "Draining"),
        LeaseState::Live => (Tone::Delivered, Glyph::Check, "Live"),
    }
}

/// Its kinds of jobs: `headgate` delivers, other programs do their own.
fn does(worker: &Worker) -> String {
    let kinds = worker.job_types.as_deref().unwrap_or_default().join(", ");
    match (&worker.program, kinds.is_empty()) {
        (None, true) => "deliveries".to_owned(),
        (None, false) => kinds,
        (Some(program), true) => format!("{program}: its own jobs"),
        (Some(program), false) => format!("{program}: {kinds}"),
    }
}
