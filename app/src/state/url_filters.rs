//! Filters of a list in the URL, parsed and printed in one place, for the server and the browser.

use super::page_url::PageUrl;
use model::dead_letter::BinPageRequest;
use model::dead_letter_grid::{BadRank, Rank};
use model::filter::JobFilter;
use model::list_query;
pub use model::list_query::BadQuery;
use model::page::{Order, PageRequest};
use serde::de::DeserializeOwned;
use std::str::FromStr;

/// Filter and page of a list of jobs or dead letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListQuery {
    pub filter: JobFilter,
    pub page: PageRequest,
    pub order: Order,
}

impl ListQuery {
    /// Reads a query string; other parameters are ignored.
    pub fn parse(query: &str) -> Result<Self, BadQuery> {
        let pairs = list_query::pairs(query);
        Ok(Self {
            filter: list_query::filter(&pairs)?,
            page: list_query::page(&pairs, PageRequest::parse)?,
            order: list_query::order(&pairs)?,
        })
    }
}

/// Deserialises the named parameters of an address; empty ones are absent.
pub fn read<T: DeserializeOwned>(url: &PageUrl, names: &[&str]) -> Result<T, BadQuery> {
    let given = |name: &&str| url.get(name).map(|value| ((*name).to_owned(), value.to_owned()));
    list_query::read(names.iter().filter_map(given).collect())
}

pub fn page(query: &str) -> Result<PageRequest, BadQuery> {
    list_query::page(&list_query::pairs(query), PageRequest::parse)
}

pub fn bin_page(query: &str) -> Result<BinPageRequest, BadQuery> {
    list_query::page(&list_query::pairs(query), BinPageRequest::parse)
}

pub fn order(url: &PageUrl) -> Result<Order, BadQuery> {
    list_query::order(url.pairs())
}

/// The cursor of a list that is ordered by a number.
pub fn rank<T: FromStr>(url: &PageUrl, name: &str) -> Result<Option<Rank<T>>, BadQuery> {
    url.get(name).map(str::parse).transpose().map_err(|error: BadRank| BadQuery(format!("{name} {error}")))
}

/// The filter parameters of an address.
pub fn active(url: &PageUrl) -> Vec<(String, String)> {
    list_query::filters(url.pairs())
}

/// The address without filters.
pub fn cleared(url: &PageUrl) -> PageUrl {
    active(url).iter().fold(without(url, &[]), |url, (name, _)| url.without(name))
}

/// The first page of an address without these parameters.
pub fn without(url: &PageUrl, names: &[&str]) -> PageUrl {
    names.iter().fold(url.clone().settled().without("cursor"), |url, name| url.without(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::job::JobStatus;

    #[test]
    fn a_query_is_read_and_other_parameters_are_ignored() {
        let id = "0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7";
        let query = format!(
            "status=to_be_retried&integration_id={id}&error=&notice=paused&confirm=purge&ids=1&ids=2"
        );
        let list = ListQuery::parse(&query).expect("a filter");
        assert_eq!(list.filter.status, Some(JobStatus::ToBeRetried));
        assert_eq!(list.filter.integration_id.map(|id| id.to_string()).as_deref(), Some(id));
        assert_eq!(list.filter.error, None, "an empty field narrows nothing");
        assert!(ListQuery::parse("").expect("no filter").filter.is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_an_error_and_not_an_empty_filter() {
        for query in [
            "status=nonsense",
            "integration_id=1",
            "cursor=x",
            "limit=0",
            "limit=x",
            "created_after=today",
            "attempt=x",
            "min_age=1",
            "response_status=6xx",
            "payload=x",
            "payload.=x",
            "payload.a=1&payload.a=2",
            "q=%00",
            "error=a%00b",
        ] {
            assert!(ListQuery::parse(query).is_err(), "{query}");
        }
    }

    #[test]
    fn clearing_keeps_what_is_no_filter() {
        let url = PageUrl::parse("/jobs?status=failed&q=x&cursor=c&limit=10");
        assert_eq!(cleared(&url).to_string(), "/jobs?limit=10");
        assert_eq!(active(&url).len(), 2);
        let by_path = PageUrl::parse("/jobs?payload.order.id=17&max_age=15m&limit=10");
        assert_eq!(cleared(&by_path).to_string(), "/jobs?limit=10");
    }

    #[test]
    fn paths_into_the_payload_ages_and_answers_are_read() {
        let query = "payload.order.id=17&payload.sku=a&max_age=15m&response_status=5xx&attempt_min=2";
        let filter = ListQuery::parse(query).expect("a filter").filter;
        let paths: Vec<_> = filter.payload.iter().flat_map(|payload| payload.iter()).collect();
        assert_eq!(paths, [("order.id", "17"), ("sku", "a")]);
        assert_eq!(filter.max_age.map(|age| age.to_string()).as_deref(), Some("15m"));
        assert_eq!(
            (filter.response_status.map(|status| status.range()), filter.attempt_min),
            (Some((500, 599)), Some(2))
        );
        assert!(ListQuery::parse("payload=order.id%3D17").expect("a filter").filter.payload.is_some());
    }
}
