//! The parameters of a list of jobs in a query string: filter, page, order.

use crate::filter::{self, JobFilter};
use crate::moment;
use crate::page::{Order, PageError};
use chrono::SecondsFormat;
use serde::de::DeserializeOwned;

/// The parameters of the filter; all others belong to the page.
const FIELDS: [&str; 23] = [
    "status",
    "attempt",
    "attempt_min",
    "attempt_max",
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
    "min_age",
    "max_age",
    "finished_after",
    "finished_before",
    "response_status",
    "worker_id",
    "payload",
    "fingerprint",
];

/// Why a query string cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("One of its filters is not understood: {0}.")]
pub struct BadQuery(pub String);

/// The parameters of a query string, in its order.
#[must_use]
pub fn pairs(query: &str) -> Vec<(String, String)> {
    serde_html_form::from_str(query).unwrap_or_default()
}

/// The first value of a parameter; an empty one counts as absent.
#[must_use]
pub fn get<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(own, value)| own == name && !value.is_empty()).map(|(_, value)| value.as_str())
}

/// The parameters of the filter.
#[must_use]
pub fn filters(pairs: &[(String, String)]) -> Vec<(String, String)> {
    let named =
        FIELDS.iter().filter_map(|name| get(pairs, name).map(|value| ((*name).to_owned(), value.to_owned())));
    let by_path =
        pairs.iter().filter(|(name, value)| name.starts_with(filter::PAYLOAD_PREFIX) && !value.is_empty());
    named.chain(by_path.cloned()).collect()
}

/// The filter; other parameters are ignored.
///
/// # Errors
/// A parameter that cannot be read.
pub fn filter(pairs: &[(String, String)]) -> Result<JobFilter, BadQuery> {
    let mut given = filter::gather(filters(pairs));
    // A `datetime-local` field has no zone: the console's is UTC.
    for (_, value) in
        given.iter_mut().filter(|(name, _)| name.ends_with("_after") || name.ends_with("_before"))
    {
        if let Some(at) = moment::parse_local(value) {
            *value = at.to_rfc3339_opts(SecondsFormat::Millis, true);
        }
    }
    read(given)
}

/// The page, by its kind of cursor.
///
/// # Errors
/// Which of `limit` and `cursor` is wrong.
pub fn page<P>(
    pairs: &[(String, String)],
    parse: impl Fn(Option<i64>, Option<&str>) -> Result<P, PageError>,
) -> Result<P, BadQuery> {
    let limit = get(pairs, "limit").map(str::parse).transpose().map_err(|_| BadQuery("limit".to_owned()))?;
    parse(limit, get(pairs, "cursor")).map_err(|error| BadQuery(error.to_string()))
}

/// The order, newest first unless it says otherwise.
///
/// # Errors
/// An unknown order.
pub fn order(pairs: &[(String, String)]) -> Result<Order, BadQuery> {
    match get(pairs, "sort") {
        None | Some("newest") => Ok(Order::Newest),
        Some("oldest") => Ok(Order::Oldest),
        Some(_) => Err(BadQuery("sort must be newest or oldest".to_owned())),
    }
}

/// Deserialises parameters.
///
/// # Errors
/// The first that cannot be read.
pub fn read<T: DeserializeOwned>(fields: Vec<(String, String)>) -> Result<T, BadQuery> {
    // A text of Postgres cannot contain NUL.
    if let Some((name, _)) = fields.iter().find(|(_, value)| value.contains('\0')) {
        return Err(BadQuery(format!("{name} contains a NUL character")));
    }
    let text = serde_html_form::to_string(fields).map_err(|error| BadQuery(error.to_string()))?;
    serde_html_form::from_str(&text).map_err(|error| BadQuery(error.to_string()))
}
