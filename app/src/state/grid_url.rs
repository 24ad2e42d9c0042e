//! The part of the grid of dead letters that an address asks for.

use super::page_url::PageUrl;
use super::url_filters::{self, BadQuery};
use model::dead_letter_grid::GridPageRequest;

/// The parameter for the integration after which the rows continue.
pub const INTEGRATIONS: &str = "integrations_after";
/// The parameter for the cause after which the columns continue.
pub const CAUSES: &str = "causes_after";

pub fn place(query: &str) -> Result<GridPageRequest, BadQuery> {
    let url = PageUrl::parse(&format!("/?{query}"));
    Ok(GridPageRequest {
        integrations_after: url_filters::rank(&url, INTEGRATIONS)?,
        causes_after: url_filters::rank(&url, CAUSES)?,
    })
}

/// The first page of the list and of the grid, for links that change what is counted.
pub fn first_page(url: &PageUrl) -> PageUrl {
    url_filters::without(url, &[INTEGRATIONS, CAUSES])
}
