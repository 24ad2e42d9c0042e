//! Whether the numbers are fresh, and if not, since when and why: live, stale, frozen, idle, or as of a moment.

use crate::calls::error::CallError;
use crate::format;
use crate::state::event_stream::Link;
use crate::state::live::{self, Live, Refusal};
use crate::state::{clock, page_url, sign_in_url};
use crate::ui::{self, Tone};
use chrono::{DateTime, TimeDelta, Utc};
use leptos::prelude::*;

/// Failed calls are retried, so the page is called stale only after some of them in a row.
const REFUSED_AFTER: TimeDelta = TimeDelta::seconds(5);

/// These words are a link to the sign-in.
const SIGNED_OUT: &str = "Signed out";

#[component]
pub fn LiveBadge(
    /// The moment of the page's first numbers.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let live = live::current();
    let now = clock::now_or(as_of);
    let state = Memo::new(move |_| BadgeState::of(live, now.get(), as_of));
    let is_signed_out = Memo::new(move |_| state.with(|badge| badge.words == SIGNED_OUT));
    let url = page_url::current();
    let sign_in = Signal::derive(move || url.with(sign_in_url::from).unwrap_or_default().to_string());
    let shown_at = move || live.shown_at().unwrap_or(as_of);
    view! {
        <span
            class=move || {
                let tone = state.with(|badge| badge.tone).class();
                format!("as-of flex items-center gap-2 pl-1 type-label font-medium text-muted tabular-nums {tone}")
            }
            title=move || state.with(|badge| badge.why.clone())
        >
            <span class="dot"></span>
            {move || {
                if is_signed_out.get() {
                    view! {
                        <ui::Link href=sign_in class="underline">
                            {SIGNED_OUT}
                        </ui::Link>
                    }
                        .into_any()
                } else {
                    view! { <span>{move || state.with(|badge| badge.words.clone())}</span> }.into_any()
                }
            }}
            <span class="sr-only">{move || state.with(|badge| format!(". {}", badge.why))}</span>
            <span class="on-paper">{move || format!("As of {}", format::full(shown_at()))}</span>
        </span>
    }
    .into_any()
}

#[derive(Clone, PartialEq)]
struct BadgeState {
    tone: Tone,
    words: String,
    why: String,
}

impl BadgeState {
    fn of(live: Live, now: DateTime<Utc>, as_of: DateTime<Utc>) -> Self {
        let badge = |tone, words: String, why: String| Self { tone, words, why };
        match (live.link().get(), live.age(now), live.frozen_since(), live.refusal()) {
            (_, _, _, Some(Refusal { error: CallError::SignedOut, .. })) => badge(
                Tone::Failed,
                SIGNED_OUT.to_owned(),
                "Your session has ended. Sign in again for new numbers and to make changes".to_owned(),
            ),
            (Link::Hidden, ..) => badge(
                Tone::Paused,
                "Idle".to_owned(),
                "Nothing is loaded while this tab is hidden".to_owned(),
            ),
            (link, Some((age, true)), ..) => {
                badge(Tone::Failed, format!("Stale · {}", format::age(age)), why_stale(link, now))
            }
            (link @ Link::Broken { .. }, ..) => {
                badge(Tone::Retrying, "Reconnecting".to_owned(), why_stale(link, now))
            }
            (_, _, Some(since), _) => badge(
                Tone::Paused,
                format!("Frozen · {}", format::age(now - since)),
                "The page is frozen while rows are selected or a dialog is open".to_owned(),
            ),
            (_, _, _, Some(refusal)) if now - refusal.since > REFUSED_AFTER => badge(
                Tone::Failed,
                format!("Stale · {}", format::age(now - refusal.since)),
                format!("This page could not be reloaded: {}", refusal.error),
            ),
            (Link::Open, age, ..) => {
                let aged = age.filter(|(age, _)| age.num_seconds() >= 2);
                let words =
                    aged.map_or_else(|| "Live".to_owned(), |(age, _)| format!("Live · {}", format::age(age)));
                badge(
                    Tone::Delivered,
                    words,
                    "Updates once a second, twice while something changes, as long as this tab is visible"
                        .to_owned(),
                )
            }
            (Link::Starting, ..) => badge(
                Tone::Paused,
                format!("As of {}", format::clock(as_of, as_of)),
                "Reload the page for newer numbers".to_owned(),
            ),
        }
    }
}

fn why_stale(link: Link, now: DateTime<Utc>) -> String {
    match link {
        Link::Broken { again_at } => format!(
            "Connection to Headgate lost. Next try in {}",
            format::age((again_at - now).max(TimeDelta::zero()))
        ),
        _ => "Connected, but no new numbers: the process that samples them may have died, and another takes over \
              after about ten seconds"
            .to_owned(),
    }
}
