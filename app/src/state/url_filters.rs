//! What a list is narrowed to, in the URL: one type parses and prints it, on the server and in the browser.

use super::page_url::PageUrl;
use model::{filter::JobFilter, page::PageRequest};
use serde::de::DeserializeOwned;

/// The parameters that belong to the filter; all others are the page's own.
const FIELDS: [&str; 14] = [
    "status",
    "attempt",
    "app_id",
    "integration_id",
    "job_type",
    "correlation_id",
    "batch_id",
    "record_type",
    "record_id",
    "error",
    "q",
    "created_after",
    "created_before",
    "fingerprint",
];

/// Filter and page of a list of jobs or dead letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Which.
    pub filter: JobFilter,
    /// Which page of them.
    pub page: PageRequest,
}

/// Why an address cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("One of its filters is not understood: {0}.")]
pub struct BadQuery(String);

impl ListQuery {
    /// Reads a query string; parameters of no filter are left alone.
    ///
    /// # Errors
    /// A sentence that names what is wrong.
    pub fn parse(query: &str) -> Result<Self, BadQuery> {
        let filter = read(&PageUrl::parse(&format!("/?{query}")), &FIELDS)?;
        let page = page(query)?;
        Ok(Self { filter, page })
    }
}

/// The named parameters of an address as what they stand for; empty ones are absent.
///
/// # Errors
/// A sentence that names what is wrong.
pub fn read<T: DeserializeOwned>(url: &PageUrl, names: &[&str]) -> Result<T, BadQuery> {
    let fields: Vec<_> = names.iter().filter_map(|name| url.get(name).map(|value| (*name, value))).collect();
    // Postgres has no text with one.
    if let Some((name, _)) = fields.iter().find(|(_, value)| value.contains('\0')) {
        return Err(BadQuery(format!("{name} contains a NUL character")));
    }
    let text = serde_html_form::to_string(fields).map_err(|error| BadQuery(error.to_string()))?;
    serde_html_form::from_str(&text).map_err(|error| BadQuery(error.to_string()))
}

/// Which page of a list a query string asks for.
///
/// # Errors
/// A sentence that names what is wrong.
pub fn page(query: &str) -> Result<PageRequest, BadQuery> {
    let url = PageUrl::parse(&format!("/?{query}"));
    let limit = url.get("limit").map(str::parse).transpose().map_err(|_| BadQuery("limit".to_owned()))?;
    PageRequest::parse(limit, url.get("cursor")).map_err(|error| BadQuery(error.to_string()))
}

/// The narrowing parameters of an address with their words, for chips.
pub fn active(url: &PageUrl) -> Vec<(&'static str, String)> {
    FIELDS.iter().filter_map(|name| url.get(name).map(|value| (*name, value.to_owned()))).collect()
}

/// The address without any narrowing.
pub fn cleared(url: &PageUrl) -> PageUrl {
    without(url, &FIELDS)
}

/// The first page of an address without these parameters.
pub fn without(url: &PageUrl, names: &[&str]) -> PageUrl {
    names.iter().fold(url.clone().settled().without("cursor"), |url, name| url.without(name))
}

/// A parameter in words.
pub fn label(name: &str) -> &'static str {
    match name {
        "status" => "state",
        "attempt" => "attempts made",
        "app_id" => "app",
        "integration_id" => "integration",
        "job_type" => "kind",
        "correlation_id" => "correlation",
        "batch_id" => "batch",
        "record_type" => "record type",
        "record_id" => "record",
        "error" => "error contains",
        "q" => "search",
        "created_after" => "accepted after",
        "created_before" => "accepted before",
        "fingerprint" => "cause",
        _ => "filter",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::job::JobStatus;

    #[test]
    fn a_query_is_read_and_foreign_parameters_are_left_alone() {
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
    }
}
