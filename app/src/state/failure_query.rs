//! Filters of the page of failures in the URL.

use super::page_url::PageUrl;
use super::url_filters::{self, BadQuery};
use model::failure::{CauseId, FailureFilter, FailureState};
use model::page::PageRequest;

/// The filter parameters. Without `state` only open groups are listed; `state=all` lists all.
pub const FIELDS: [&str; 3] = ["state", "app_id", "integration_id"];

/// Filter, page, and the opened group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureQuery {
    pub filter: FailureFilter,
    pub page: PageRequest,
    /// The opened group.
    pub group: Option<CauseId>,
}

impl FailureQuery {
    /// Reads a query string; other parameters are ignored.
    pub fn parse(query: &str) -> Result<Self, BadQuery> {
        let url = PageUrl::parse(&format!("/?{query}"));
        let state = url.get("state").filter(|state| !state.is_empty());
        let filters = if state == Some("all") { url.clone().without("state") } else { url.clone() };
        let mut filter: FailureFilter = url_filters::read(&filters, &FIELDS)?;
        if state.is_none() {
            filter.state = Some(FailureState::Open);
        }
        let group = url.get("group").and_then(|group| group.parse().ok());
        Ok(Self { filter, page: url_filters::page(query)?, group })
    }
}

/// Whether the address filters by app or integration.
pub fn is_narrowed(url: &PageUrl) -> bool {
    url.get("app_id").is_some() || url.get("integration_id").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_groups_are_listed_unless_the_address_says_otherwise() {
        let state = |query| FailureQuery::parse(query).map(|query| query.filter.state).ok();
        assert_eq!(state(""), Some(Some(FailureState::Open)));
        assert_eq!(state("state=fixed&group=00000000000000ff"), Some(Some(FailureState::Fixed)));
        assert_eq!(state("state=all&notice=fixed"), Some(None));
        for query in ["state=nonsense", "integration_id=1", "cursor=x", "limit=0"] {
            assert_eq!(state(query), None, "{query}");
        }
    }
}
