//! The end of every form: a redirect to the page it came from, with a notice.
//!
//! With a script the router follows the redirect, without one the browser does.

use crate::calls::error::{CallError, FormRefused};
use crate::components::{Flash, Outcome};
use crate::state::base_path;
use crate::state::limits_draft::{self, LimitsDraft};
use crate::state::page_url::PageUrl;
use std::future::Future;

/// Does `work` and redirects back.
pub async fn answer(
    back: &str,
    work: impl Future<Output = Result<Outcome, CallError>>,
) -> Result<(), FormRefused> {
    answer_with(back, |url| url, work).await
}

/// As [`answer`]; refused input is carried in the address, so that the page shows what is wrong with it and it need not be typed again.
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
            let keeps_input = matches!(because, CallError::Invalid(_) | CallError::Changed);
            let url = if keeps_input { carry_input(url) } else { url };
            Err(FormRefused { because, page: base_path::current().join(&url.to_string()) })
        }
    }
}

/// The page that says, after the sign-in, that a form was sent without a session. Of such a form only the page it came from and
/// typed limits are kept.
pub fn page_of_lost_form(form: &str) -> Option<PageUrl> {
    let form = PageUrl::parse(&format!("?{form}"));
    let page = Flash::SignedOut.on(PageUrl::parse_back(form.get("back")?), 1, 0);
    Some(LimitsDraft::on(page, form.get("id").unwrap_or_default(), &limits_draft::typed(&form)))
}

/// Redirects to a page of this console; anything else leads to the overview.
pub fn to_page(path: &str) {
    to(&PageUrl::parse_back(path));
}

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
    fn a_form_without_a_session_keeps_only_its_page_and_limits() {
        let page = |form| page_of_lost_form(form).map(|url| url.to_string());
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
