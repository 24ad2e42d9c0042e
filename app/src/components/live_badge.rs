//! Whether the numbers are fresh, and if not, since when and why: live, old, held, resting, or plain.

use crate::{
    calls::error::CallError,
    format,
    state::{
        clock,
        event_stream::Link,
        live::{self, Live, Refusal},
        page_url, sign_in_url,
    },
    ui::{self, Tone},
};
use chrono::{DateTime, TimeDelta, Utc};
use leptos::prelude::*;

/// One call that failed is asked again: only after some in a row the page is called old.
const REFUSED_AFTER: TimeDelta = TimeDelta::seconds(5);

/// What is a link to the sign-in.
const SIGNED_OUT: &str = "Signed out";

/// A dot and two words.
#[component]
pub fn LiveBadge(
    /// The moment of the page's first numbers.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let live = live::current();
    let now = clock::now_or(as_of);
    let state = Memo::new(move |_| Look::of(live, now.get(), as_of));
    let is_signed_out = Memo::new(move |_| state.with(|look| look.words == SIGNED_OUT));
    let url = page_url::current();
    let sign_in = Signal::derive(move || url.with(sign_in_url::from).unwrap_or_default().to_string());
    let shown_at = move || live.shown_at().unwrap_or(as_of);
    view! {
        <span
            class=move || {
                let tone = state.with(|look| look.tone).class();
                format!("as-of flex items-center gap-2 pl-1 type-label font-medium text-muted tabular-nums {tone}")
            }
            title=move || state.with(|look| look.why.clone())
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
                    view! { <span>{move || state.with(|look| look.words.clone())}</span> }.into_any()
                }
            }}
            <span class="sr-only">{move || state.with(|look| format!(". {}", look.why))}</span>
            <span class="on-paper">{move || format!("As of {}", format::full(shown_at()))}</span>
        </span>
    }
    .into_any()
}

/// What the badge says.
#[derive(Clone, PartialEq)]
struct Look {
    tone: Tone,
    words: String,
    /// The reason, in a sentence.
    why: String,
}

impl Look {
    fn of(live: Live, now: DateTime<Utc>, as_of: DateTime<Utc>) -> Self {
        let look = |tone, words: String, why: String| Self { tone, words, why };
        match (live.link().get(), live.age(now), live.held_since(), live.refusal()) {
            (_, _, _, Some(Refusal { error: CallError::SignedOut, .. })) => look(
                Tone::Failed,
                SIGNED_OUT.to_owned(),
                "The session has ended. Sign in again for newer numbers, and before you change anything"
                    .to_owned(),
            ),
            (Link::Resting, ..) => look(
                Tone::Paused,
                "Resting".to_owned(),
                "Nothing is asked for while this tab is hidden".to_owned(),
            ),
            (link, Some((age, true)), ..) => {
                look(Tone::Failed, format!("Stale · {}", format::age(age)), why_stale(link, now))
            }
            (link @ Link::Broken { .. }, ..) => {
                look(Tone::Retrying, "Reconnecting".to_owned(), why_stale(link, now))
            }
            (_, _, Some(since), _) => look(
                Tone::Paused,
                format!("Held · {}", format::age(now - since)),
                "The page stands still while rows are selected or a question is open".to_owned(),
            ),
            (_, _, _, Some(refusal)) if now - refusal.since > REFUSED_AFTER => look(
                Tone::Failed,
                format!("Stale · {}", format::age(now - refusal.since)),
                format!("What is on this page could not be asked for again: {}", refusal.error),
            ),
            (Link::Open, age, ..) => {
                let aged = age.filter(|(age, _)| age.num_seconds() >= 2);
                let words =
                    aged.map_or_else(|| "Live".to_owned(), |(age, _)| format!("Live · {}", format::age(age)));
                look(
                    Tone::Delivered,
                    words,
                    "Numbers arrive once a second, twice while something moves, as long as this tab is visible".to_owned(),
                )
            }
            (Link::Starting, ..) => look(
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
            "The connection to Headgate is broken. It is tried again in {}",
            format::age((again_at - now).max(TimeDelta::zero()))
        ),
        _ => "Connected, but no numbers come: the process that takes them may have died, and another takes its place \
              after some ten seconds"
            .to_owned(),
    }
}
