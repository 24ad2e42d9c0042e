//! Every attempt of a job, newest first: what came back, after how long, why the next one waits, and where a requeue restarted
//! the count.

use super::attempt_exchange::AttemptExchange;
use super::attempt_history::{Entry, History};
use super::attempt_words::{detail, headline, wait};
use crate::format;
use crate::ui::{Glyph, Icon, Instant, Tone};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::attempt::AttemptOutcome;

/// An attempt stays where it is, and unfolded if it was, when another one comes.
#[component]
pub fn AttemptTimeline(
    #[prop(into)] history: Signal<History>,
    /// Decides which times are today's.
    now: DateTime<Utc>,
    /// The job is a dead letter: its last failure is red, not amber.
    #[prop(into)]
    is_dead: Signal<bool>,
) -> impl IntoView {
    let keys = Memo::new(move |_| history.with(|history| history.keys().rev().collect::<Vec<_>>()));
    view! {
        <ol class="tl">
            <For each=move || keys.get() key=|key| *key let:key>
                <Line history=history at=key.at now=now is_dead=is_dead />
            </For>
        </ol>
    }
    .into_any()
}

#[component]
fn Line(
    history: Signal<History>,
    /// The entry's index, from the first.
    at: usize,
    now: DateTime<Utc>,
    is_dead: Signal<bool>,
) -> impl IntoView {
    let entry = Memo::new(move |_| {
        history.with(|history| {
            let is_last = at + 1 == history.entries.len();
            history.entries.get(at).map(|entry| (entry.clone(), is_last, history.sends))
        })
    });
    move || {
        let (entry, is_last, sends) = entry.get()?;
        let (attempt, queued) = match entry {
            Entry::Try(attempt, queued) => (attempt, queued),
            Entry::Requeued => return Some(view! { <RequeuedHere /> }.into_any()),
        };
        let is_final = is_last && is_dead.get();
        let tone = tone(attempt.outcome, is_final);
        let headline = headline(&attempt);
        let after = attempt.duration_ms.map(|ms| format!(" after {}", format::milliseconds(ms.into())));
        let detail = detail(&attempt);
        let wait = wait(&attempt, is_last && !is_final);
        let line = view! {
            <li class=format!("try {}", tone.class())>
                <span class="knob">
                    <span class="sr-only">"Attempt "</span>
                    {attempt.attempt}
                </span>
                <span class="when">
                    {attempt.started_at.map(|at| view! { <Instant at=at now=now /> })}
                </span>
                <div class="what">
                    <b>{headline}</b>
                    {after}
                    {detail.map(|text| view! { <p>{text}</p> })}
                    <AttemptExchange attempt=attempt queued=queued sends=sends />
                </div>
                <span class="end"></span>
                {wait.map(|text| view! { <div class="wait">{text}</div> })}
            </li>
        };
        Some(line.into_any())
    }
}

#[component]
fn RequeuedHere() -> impl IntoView {
    view! {
        <li class="try requeued">
            <span class="knob">
                <Icon glyph=Glyph::Undo size="w-[11px] h-[11px]" />
            </span>
            <div class="what">
                <b>"Requeued"</b>
                ", attempts start over at 1"
            </div>
        </li>
    }
    .into_any()
}

const fn tone(outcome: AttemptOutcome, is_final: bool) -> Tone {
    match outcome {
        AttemptOutcome::Running => Tone::Processing,
        AttemptOutcome::Completed => Tone::Delivered,
        AttemptOutcome::Lost => Tone::Limited,
        AttemptOutcome::Cancelled => Tone::Paused,
        AttemptOutcome::Failed | AttemptOutcome::TimedOut => {
            if is_final {
                Tone::Failed
            } else {
                Tone::Retrying
            }
        }
    }
}
