//! Which part of the grid of dead letters an address asks for.

use super::{
    page_url::PageUrl,
    url_filters::{self, BadQuery},
};
use model::dead_letter_grid::GridPlace;

/// The parameter that says after which integration it goes on.
pub const INTEGRATIONS: &str = "integrations_after";
/// After which cause.
pub const CAUSES: &str = "causes_after";

/// What a query string says.
///
/// # Errors
/// A sentence that names what is wrong.
pub fn place(query: &str) -> Result<GridPlace, BadQuery> {
    let url = PageUrl::parse(&format!("/?{query}"));
    Ok(GridPlace {
        integrations_after: url_filters::rank(&url, INTEGRATIONS)?,
        causes_after: url_filters::rank(&url, CAUSES)?,
    })
}

/// The first page of an address, its grid from the beginning: for everything that changes what is counted.
pub fn from_the_beginning(url: &PageUrl) -> PageUrl {
    url_filters::without(url, &[INTEGRATIONS, CAUSES])
}
