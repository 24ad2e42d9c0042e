//! Every try at a job, newest first: what came back, after how long, why the next one waits, and where attempts count anew.

use super::{
    attempt_exchange::AttemptExchange,
    attempt_history::{Entry, History},
    attempt_words::{detail, headline, wait},
};
use crate::{
    format,
    ui::{Glyph, Icon, Instant, Tone},
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::attempt::AttemptOutcome;

/// The list.
#[component]
pub fn AttemptTimeline(
    /// What was tried.
    history: History,
    /// Decides what today is.
    now: DateTime<Utc>,
    /// The job was given up: its last failure is red, not amber.
    is_dead: bool,
) -> impl IntoView {
    let last = history.entries.len().saturating_sub(1);
    let sends = history.sends;
    view! {
        <ol class="tl">
            {history
                .entries
                .into_iter()
                .enumerate()
                .rev()
                .map(|(at, entry)| {
                    let (attempt, queued) = match entry {
                        Entry::Try(attempt, queued) => (attempt, queued),
                        Entry::Requeued => return view! { <RequeuedHere /> }.into_any(),
                    };
                    let tone = tone(attempt.outcome, is_dead && at == last);
                    let headline = headline(&attempt);
                    let after = attempt.duration_ms.map(|ms| format!(" after {}", format::milliseconds(ms.into())));
                    let detail = detail(&attempt);
                    let wait = wait(&attempt, at == last && !is_dead);
                    view! {
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
                    }
                        .into_any()
                })
                .collect_view()}
        </ol>
    }
    .into_any()
}

/// Between two rounds.
#[component]
fn RequeuedHere() -> impl IntoView {
    view! {
        <li class="try anew">
            <span class="knob">
                <Icon glyph=Glyph::Undo size="w-[11px] h-[11px]" />
            </span>
            <div class="what">
                <b>"Requeued here"</b>
                ", attempts count anew"
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
