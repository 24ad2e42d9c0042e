//! What a saved view keeps of the query string of the list of jobs: filters, order, columns and page size, but not the page.

use crate::filter::{JobFilter, PAYLOAD_PREFIX, PayloadMatch};
use crate::job_columns::JobColumns;
use crate::limits;
use crate::list_query::{self, BadQuery, get, pairs};
use crate::page::{Order, PageRequest};
use crate::problem::Faults;
use crate::rules::{masking::MASK, narrowing};
use chrono::{DateTime, Utc};
use serde_json::Value;

const KEPT: [&str; 3] = ["sort", "columns", "limit"];

/// A query string that can be listed and counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedQuery {
    /// The query string, filters first.
    pub text: String,
    /// The filter in it.
    pub filter: JobFilter,
}

impl SavedQuery {
    /// The part of a query string that is saved.
    #[must_use]
    pub fn of_parameters(pairs: &[(String, String)]) -> String {
        let kept = KEPT
            .iter()
            .filter_map(|name| get(pairs, name).map(|value| ((*name).to_owned(), value.to_owned())));
        let mut saved: Vec<(String, String)> = Vec::new();
        for (name, value) in list_query::filters(pairs).into_iter().chain(kept) {
            // Of a path that is given twice, the last value counts.
            saved.retain(|(own, _)| *own != name);
            saved.push((name, value));
        }
        serde_html_form::to_string(saved).unwrap_or_default()
    }

    /// Reads and checks a query string.
    ///
    /// # Errors
    /// A fault at `/query`: what cannot be read, or which filter is missing.
    pub fn parse(query: &str, now: DateTime<Utc>) -> Result<Self, Faults> {
        Self::read(query, now).map_err(|detail| {
            let mut faults = Faults::default();
            faults.add("/query", detail);
            faults
        })
    }

    fn read(query: &str, now: DateTime<Utc>) -> Result<Self, String> {
        let max = *limits::VIEW_QUERY_CHARS.end();
        if query.chars().count() > max {
            return Err(format!("must be up to {max} characters"));
        }
        let given = pairs(query.trim_start_matches('?'));
        let text = Self::of_parameters(&given);
        let kept = pairs(&text);
        if let Some((name, _)) =
            given.iter().find(|(name, value)| !value.is_empty() && get(&kept, name).is_none())
        {
            let name: String = name.chars().take(40).collect();
            return Err(format!(
                "is the query string of /jobs, which has no parameter “{name}” to keep: its filters, sort, columns, limit"
            ));
        }
        let (filter, order) = list(&kept).map_err(|error| error.to_string())?;
        get(&kept, "columns").map(str::parse::<JobColumns>).transpose().map_err(|error| error.to_string())?;
        narrowing::check(&filter, now).map_err(|faults| faults.to_string())?;
        if order == Order::Oldest && !narrowing::may_begin_with_oldest(&filter) {
            return Err(
                "sort=oldest needs a status other than completed and cancelled, max_age or created_after"
                    .to_owned(),
            );
        }
        Ok(Self { text, filter })
    }

    /// The filter of a query string that was saved.
    ///
    /// # Errors
    /// A parameter that this version does not read.
    pub fn filter_of(text: &str) -> Result<JobFilter, BadQuery> {
        list_query::filter(&pairs(text))
    }

    /// A query string that was saved, with its payload values masked. Lists refuse the mask as a value and say why, so that the page of the view
    /// explains itself; without its conditions it would show more than the view does.
    #[must_use]
    pub fn masked(text: &str) -> String {
        let masked: Vec<(String, String)> = pairs(text).into_iter().flat_map(masked_parameter).collect();
        serde_html_form::to_string(masked).unwrap_or_default()
    }

    /// Whether two query strings are the same view, whatever the order of their parameters.
    #[must_use]
    pub fn is_same(a: &str, b: &str) -> bool {
        let sorted = |query: &str| {
            let mut pairs = pairs(query);
            pairs.retain(|(_, value)| !value.is_empty());
            pairs.sort();
            pairs
        };
        sorted(a) == sorted(b)
    }
}

/// A parameter with its payload values masked, by path.
fn masked_parameter((name, value): (String, String)) -> Vec<(String, String)> {
    if name == "payload" {
        let asked: PayloadMatch = serde_json::from_value(Value::String(value)).unwrap_or_default();
        return asked.iter().map(|(path, _)| (format!("{PAYLOAD_PREFIX}{path}"), MASK.to_owned())).collect();
    }
    let value = if name.starts_with(PAYLOAD_PREFIX) { MASK.to_owned() } else { value };
    vec![(name, value)]
}

fn list(pairs: &[(String, String)]) -> Result<(JobFilter, Order), BadQuery> {
    let filter = list_query::filter(pairs)?;
    list_query::page(pairs, PageRequest::parse)?;
    Ok((filter, list_query::order(pairs)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_order_and_columns_are_kept_and_the_page_is_not() {
        let pairs = pairs(
            "columns=app&status=failed&cursor=c1&ticked=all&notice=paused&payload.a=1&sort=oldest&limit=20",
        );
        let query = SavedQuery::of_parameters(&pairs);
        assert_eq!(query, "status=failed&payload.a=1&sort=oldest&columns=app&limit=20");
        assert!(SavedQuery::is_same(&query, "limit=20&columns=app&sort=oldest&payload.a=1&status=failed"));
        assert!(!SavedQuery::is_same(&query, "status=failed"));
    }

    #[test]
    fn a_masked_query_keeps_its_paths_and_everything_else() {
        for (query, shown) in [
            (
                "status=failed&payload.a=1&payload.b.c=x%26y&sort=oldest",
                "status=failed&payload.a=%5Bmasked%5D&payload.b.c=%5Bmasked%5D&sort=oldest",
            ),
            ("payload=order.id%3D17&limit=20", "payload.order.id=%5Bmasked%5D&limit=20"),
            (
                "payload=%7B%22a%22%3A%221%22%2C%22b%22%3A%222%22%7D",
                "payload.a=%5Bmasked%5D&payload.b=%5Bmasked%5D",
            ),
            ("status=failed&error=no+lamp", "status=failed&error=no+lamp"),
            ("", ""),
        ] {
            let masked = SavedQuery::masked(query);
            assert_eq!(masked, shown);
            assert!(SavedQuery::filter_of(&masked).is_ok(), "{masked}");
        }
    }

    #[test]
    fn a_query_that_cannot_be_listed_is_not_saved() {
        for (query, says) in [
            ("status=nonsense", "not understood"),
            ("stauts=failed", "no parameter “stauts”"),
            ("cursor=c1", "no parameter “cursor”"),
            ("columns=colour", "no column “colour”"),
            ("response_status=503", "needs another filter with it"),
            ("sort=oldest", "sort=oldest needs"),
        ] {
            let faults = SavedQuery::parse(query, Utc::now()).expect_err(query);
            assert!(
                faults.0[0].pointer == "/query" && faults.0[0].detail.contains(says),
                "{query}: {faults}"
            );
        }
        let saved = SavedQuery::parse("?error=503&status=failed", Utc::now()).expect("a view");
        assert_eq!(
            (saved.text.as_str(), saved.filter.error.as_deref()),
            ("status=failed&error=503", Some("503"))
        );
        assert!(SavedQuery::parse("", Utc::now()).is_ok_and(|all| all.filter.is_empty()));
    }
}
