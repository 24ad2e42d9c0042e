//! A page that could not be loaded: why, and what to do. Each error has a state of its own, with the status the server answers.

use crate::calls::error::CallError;
use crate::state::page_url::{self, PageUrl};
use crate::state::sign_in_url;
use crate::ui::{ButtonKind, EmptyState, Glyph, LinkButton, Tone};
use leptos::prelude::*;
use leptos_router::components::Redirect;
use std::time::Duration;

/// How soon a page reloads when the database does not answer.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// Says what is wrong. Without a session it leads to the sign-in instead.
#[component]
pub fn Failure(error: CallError) -> impl IntoView {
    error.set_response_status();
    if error == CallError::Unavailable {
        // The answer has `Refresh` for browsers without a script; this is for a page that was navigated to.
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
            // A page whose other calls are refused as well shows this again on the way there: then it leads nowhere.
            let sign_in = here.with_untracked(sign_in_url::from);
            return sign_in.map(|url| view! { <Redirect path=url.to_string() /> }).into_any();
        }
        CallError::Forbidden => (
            Glyph::Hand,
            Tone::Paused,
            "Not allowed for your role".to_owned(),
            "Your role can read this page but not do this. Ask an operator to do it or to change your role.".to_owned(),
        ),
        CallError::NotFound => (
            Glyph::Search,
            Tone::Paused,
            "Not found".to_owned(),
            "It does not exist or was deleted: finished jobs and their attempts are deleted when their retention ends.".to_owned(),
        ),
        CallError::Invalid(detail) => (Glyph::Alert, Tone::Retrying, "This URL is not valid".to_owned(), detail.clone()),
        CallError::TooSlow => (
            Glyph::Clock,
            Tone::Retrying,
            "This search takes too long".to_owned(),
            "Your filters are kept. Add one integration or a shorter time range.".to_owned(),
        ),
        CallError::Unavailable => (
            Glyph::Plug,
            Tone::Failed,
            "The database is not responding".to_owned(),
            "Nothing is lost: jobs wait, and workers resume on their own. This page retries every few seconds.".to_owned(),
        ),
        CallError::Conflict(detail) => (Glyph::Alert, Tone::Retrying, "Not possible in its current state".to_owned(), detail.clone()),
        CallError::Raced | CallError::Changed => (
            Glyph::Alert,
            Tone::Retrying,
            "Someone else is changing this".to_owned(),
            "Nothing was changed. Try again.".to_owned(),
        ),
        CallError::TooSoon { .. } | CallError::Broken => (
            Glyph::Alert,
            Tone::Failed,
            "Something went wrong".to_owned(),
            "Details are in the server log.".to_owned(),
        ),
    };
    let here = here.get_untracked();
    let (href, word) = remedy(&error, &here);
    view! {
        <section class="card" aria-label=title>
            <EmptyState glyph=glyph tone=tone title=title.clone() text=text>
                <LinkButton href=href kind=ButtonKind::Primary>
                    {word}
                </LinkButton>
            </EmptyState>
        </section>
    }
    .into_any()
}

/// The one link that helps: the same page only where a second try can end differently.
fn remedy(error: &CallError, here: &PageUrl) -> (String, &'static str) {
    let list = |path: &str, words: &'static str| (path.to_owned(), words);
    match error {
        CallError::Invalid(_) => (here.path().to_owned(), "Clear filters"),
        CallError::NotFound => match here.path().split('/').nth(1) {
            Some("jobs") => list("/jobs", "All jobs"),
            Some("integrations") => list("/integrations", "All integrations"),
            _ => list("/", "Overview"),
        },
        CallError::Forbidden => match here.clone().settled() {
            // This role may not do what the dialog asks; it may see the page below.
            page if page != *here => (page.to_string(), "Back to the page"),
            _ => list("/", "Overview"),
        },
        _ => (here.to_string(), "Try again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_offers_what_can_help() {
        for (error, at, href) in [
            (CallError::NotFound, "/jobs/1", "/jobs"),
            (CallError::NotFound, "/integrations/1?window=7d", "/integrations"),
            (CallError::Forbidden, "/dead-letters?error=5&confirm=purge", "/dead-letters?error=5"),
            (CallError::Forbidden, "/workers", "/"),
            (CallError::Invalid(String::new()), "/jobs?status=x", "/jobs"),
            (CallError::Unavailable, "/jobs?q=1", "/jobs?q=1"),
        ] {
            assert_eq!(remedy(&error, &PageUrl::parse(at)).0, href, "{error:?} at {at}");
        }
    }
}
