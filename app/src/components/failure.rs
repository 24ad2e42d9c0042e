//! A page that could not be loaded: why, and what to do. Designed states, each with the status the server answers.

use crate::{
    calls::error::CallError,
    state::page_url,
    ui::{ButtonKind, EmptyState, Glyph, LinkButton, Tone},
};
use leptos::prelude::*;
use leptos_router::components::Redirect;
use std::time::Duration;

/// How soon a page asks again for a database that is away.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// Says what is wrong. Without a session it leads to the sign-in instead.
#[component]
pub fn Failure(
    /// What the call answered.
    error: CallError,
) -> impl IntoView {
    error.set_response_status();
    if error == CallError::Unavailable {
        // The answer carries `Refresh` for browsers without a script; this is for a page that was navigated to.
        Effect::new(move |_| {
            set_timeout(
                || {
                    let _ = window().location().reload();
                },
                AGAIN_AFTER,
            );
        });
    }
    let here = page_url::current();
    let (glyph, tone, title, text) = match &error {
        CallError::SignedOut => {
            let next = here.get_untracked().settled().to_string();
            let query = serde_html_form::to_string([("next", next)]).unwrap_or_default();
            return view! { <Redirect path=format!("/sign-in?{query}") /> }.into_any();
        }
        CallError::Forbidden => (
            Glyph::Hand,
            Tone::Paused,
            "Not for your role".to_owned(),
            "Ask an operator if you need this page.".to_owned(),
        ),
        CallError::NotFound => (
            Glyph::Search,
            Tone::Paused,
            "Not found".to_owned(),
            "It does not exist, or it was deleted after its retention.".to_owned(),
        ),
        CallError::Invalid(detail) => (Glyph::Alert, Tone::Retrying, "This address cannot be read".to_owned(), detail.clone()),
        CallError::TooSlow => (
            Glyph::Clock,
            Tone::Retrying,
            "That search takes too long".to_owned(),
            "Your filters are kept. Choose one integration or a shorter time to make it quick.".to_owned(),
        ),
        CallError::Unavailable => (
            Glyph::Plug,
            Tone::Failed,
            "The database does not answer".to_owned(),
            "Nothing is lost: jobs wait and workers resume by themselves. This page tries again every few seconds.".to_owned(),
        ),
        CallError::Conflict(detail) => (Glyph::Alert, Tone::Retrying, "Its state does not allow that".to_owned(), detail.clone()),
        CallError::TooSoon { .. } | CallError::Broken => (
            Glyph::Alert,
            Tone::Failed,
            "That failed on our side".to_owned(),
            "The cause is in the log.".to_owned(),
        ),
    };
    // The same address cannot be read a second time either.
    let (again, word) = match error {
        CallError::Invalid(_) => (here.get_untracked().path().to_owned(), "Clear filters"),
        _ => (here.get_untracked().to_string(), "Try again"),
    };
    view! {
        <section class="card" aria-label=title>
            <EmptyState glyph=glyph tone=tone title=title.clone() text=text>
                <LinkButton href=again kind=ButtonKind::Primary>
                    {word}
                </LinkButton>
                <LinkButton href="/">"Overview"</LinkButton>
            </EmptyState>
        </section>
    }
    .into_any()
}
