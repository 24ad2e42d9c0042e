//! Every form ends here: back to the page it came from, with a word about what happened.
//!
//! With a script the browser's router follows; without one the browser does.

use crate::{
    calls::error::{CallError, FormRefused},
    components::{Flash, Outcome},
    state::{base_path, page_url::PageUrl},
};
use std::future::Future;

/// Does it and goes back.
///
/// # Errors
/// Why it was refused, with the page that says so.
pub async fn answer(
    back: &str,
    work: impl Future<Output = Result<Outcome, CallError>>,
) -> Result<(), FormRefused> {
    answer_with(back, |url| url, work).await
}

/// As [`answer`]; the address of refused input carries it, so that the page can show what is wrong with it, and it is not typed again.
///
/// # Errors
/// As [`answer`].
pub async fn answer_with(
    back: &str,
    carry_input: impl FnOnce(PageUrl) -> PageUrl,
    work: impl Future<Output = Result<Outcome, CallError>>,
) -> Result<(), FormRefused> {
    let page = |outcome: &Outcome| {
        let url = outcome.flash.on(PageUrl::parse_back(back), outcome.n, outcome.skipped);
        outcome.operation.iter().fold(url, |url, id| url.with("operation", id))
    };
    match work.await {
        Ok(outcome) => {
            to(&page(&outcome));
            Ok(())
        }
        Err(because) => {
            let url = page(&refusal(&because));
            let is_kept =
                matches!(because, CallError::Invalid(_) | CallError::Changed | CallError::SignedOut);
            let url = if is_kept { carry_input(url) } else { url };
            Err(FormRefused { because, page: base_path::current().join(&url.to_string()) })
        }
    }
}

/// Goes to a page of this console; anything else leads to the overview.
pub fn to_page(path: &str) {
    to(&PageUrl::parse_back(path));
}

/// Goes to an address of this console.
pub fn to(url: &PageUrl) {
    leptos_axum::redirect(&base_path::current().join(&url.to_string()));
}

fn refusal(error: &CallError) -> Outcome {
    let flash = match error {
        CallError::TooSoon { seconds } => return Outcome { n: *seconds, ..Flash::TooSoon.into() },
        CallError::SignedOut => Flash::SignedOut,
        CallError::Forbidden => Flash::Forbidden,
        CallError::NotFound => Flash::Gone,
        CallError::Invalid(_) => Flash::Invalid,
        CallError::Conflict(_) => Flash::Conflict,
        CallError::Changed => Flash::OthersChanged,
        CallError::TooSlow | CallError::Unavailable => Flash::Unavailable,
        CallError::Raced => Flash::Raced,
        CallError::Broken => Flash::Broken,
    };
    flash.into()
}
