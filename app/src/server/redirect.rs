//! Every form ends here: back to the page it came from, with a word about what happened.
//!
//! With a script the browser's router follows the redirect; without one the browser does.

use crate::{
    calls::error::CallError,
    components::{Flash, Outcome},
    state::{base_path, page_url::PageUrl},
};
use std::future::Future;

/// Does it and goes back, whether it went well or not.
///
/// # Errors
/// Only without a session: the page that follows leads to the sign-in.
pub async fn answer(
    back: &str,
    work: impl Future<Output = Result<Outcome, CallError>>,
) -> Result<(), CallError> {
    answer_with(back, None::<fn(PageUrl) -> PageUrl>, work).await
}

/// As [`answer`]; when the input was refused, the address carries it, so that the page can show what is wrong with it.
///
/// # Errors
/// Only without a session: the page that follows leads to the sign-in.
pub async fn answer_with(
    back: &str,
    refused_input: Option<impl FnOnce(PageUrl) -> PageUrl>,
    work: impl Future<Output = Result<Outcome, CallError>>,
) -> Result<(), CallError> {
    let outcome = work.await.unwrap_or_else(refusal);
    let url = outcome.flash.on(PageUrl::parse_back(back), outcome.n, outcome.skipped);
    let url = outcome.operation.iter().fold(url, |url, id| url.with("operation", id));
    let carried = refused_input.filter(|_| outcome.flash == Flash::Invalid);
    to(&match carried {
        Some(carry) => carry(url),
        None => url,
    });
    Ok(())
}

/// Goes to a page of this console; anything else leads to the overview.
pub fn to_page(path: &str) {
    to(&PageUrl::parse_back(path));
}

/// Goes to an address of this console.
pub fn to(url: &PageUrl) {
    leptos_axum::redirect(&base_path::current().join(&url.to_string()));
}

fn refusal(error: CallError) -> Outcome {
    let flash = match error {
        CallError::TooSoon { seconds } => return Outcome { n: seconds, ..Flash::TooSoon.into() },
        CallError::SignedOut | CallError::Forbidden => Flash::Forbidden,
        CallError::NotFound => Flash::Gone,
        CallError::Invalid(_) => Flash::Invalid,
        CallError::Conflict(_) => Flash::Conflict,
        CallError::TooSlow | CallError::Unavailable => Flash::Unavailable,
        CallError::Raced => Flash::Raced,
        CallError::Broken => Flash::Broken,
    };
    flash.into()
}
