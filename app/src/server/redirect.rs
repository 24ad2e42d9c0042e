//! Every form ends here: back to the page it came from, with a word about what happened.
//!
//! With a script the browser's router follows; without one the browser does.

use crate::{
    calls::error::{CallError, FormRefused},
    components::{Flash, Outcome},
    state::{
        base_path,
        limits_draft::{self, LimitsDraft},
        page_url::PageUrl,
    },
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
            let is_kept = matches!(because, CallError::Invalid(_) | CallError::Changed);
            let url = if is_kept { carry_input(url) } else { url };
            Err(FormRefused { because, page: base_path::current().join(&url.to_string()) })
        }
    }
}

/// The page that tells, after the sign-in, that a form was sent in vain: without a session nothing of it is read but where it came from, and the
/// limits that were typed.
pub fn in_vain(form: &str) -> Option<PageUrl> {
    let form = PageUrl::parse(&format!("?{form}"));
    let page = Flash::SignedOut.on(PageUrl::parse_back(form.get("back")?), 1, 0);
    Some(LimitsDraft::on(page, form.get("id").unwrap_or_default(), &limits_draft::typed(&form)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_without_a_session_keeps_its_page_and_limits_and_nothing_else() {
        let page = |form| in_vain(form).map(|url| url.to_string());
        assert_eq!(
            page("id=1&password=s3cret&back=%2Fjobs%3Fconfirm%3Dcancel").as_deref(),
            Some("/jobs?notice=signed-out")
        );
        assert_eq!(
            page("id=1&limits%5Bmax_attempts%5D=9&limits%5Bdrawn%5D=limits%255Bmax_attempts%255D%3D3&back=%2Frate-limits").as_deref(),
            Some("/rate-limits?notice=signed-out&edit=1&limits%5Bmax_attempts%5D=9")
        );
        assert_eq!(page("back=%2F%2Fevil.test").as_deref(), Some("/?notice=signed-out"));
        assert_eq!(page("nonsense"), None);
    }
}
