//! Reads the address of the page of rate limits.

use crate::{calls::error::CallError, state::page_url::PageUrl};
use model::{limit_use::LimitWindow, views::rate_limits::LimitQuery};

/// # Errors
/// `Invalid` for a window or a page that does not exist.
pub fn parse(url: &PageUrl) -> Result<LimitQuery, CallError> {
    let window = url.get("window").map_or(Ok(LimitWindow::default()), str::parse);
    let window = window.map_err(|_| CallError::Invalid("window must be 1h or 24h".to_owned()))?;
    let page = url.get("page").map_or(Ok(1), str::parse::<usize>);
    let page = page.ok().filter(|page| (1..=10_000).contains(page));
    let page = page.ok_or_else(|| CallError::Invalid("page must be a number from 1".to_owned()))?;
    Ok(LimitQuery {
        window,
        name: url.get("name").unwrap_or_default().to_lowercase(),
        page,
        edited: url.get("edit").and_then(|id| id.parse().ok()),
    })
}
