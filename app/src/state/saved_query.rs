//! What a saved view keeps of the address of the list of jobs: filters, order, columns and page size, but not the page.

use super::{
    job_columns,
    page_url::PageUrl,
    url_filters::{self, ListQuery},
};
use chrono::{DateTime, Utc};
use model::{filter::JobFilter, limits, page::Order, problem::Faults, rules::narrowing};

const KEPT: [&str; 3] = ["sort", "columns", "limit"];

/// A query string that can be listed and counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedQuery {
    /// The query string, filters first.
    pub text: String,
    pub filter: JobFilter,
}

impl SavedQuery {
    /// The part of a page's address that is saved.
    pub fn of_page(url: &PageUrl) -> String {
        let kept =
            KEPT.iter().filter_map(|name| url.get(name).map(|value| ((*name).to_owned(), value.to_owned())));
        let pairs = url_filters::active(url).into_iter().chain(kept);
        pairs.fold(PageUrl::parse("/jobs"), |url, (name, value)| url.with(&name, value)).query()
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
        let url = PageUrl::parse(&format!("/jobs?{}", query.trim_start_matches('?')));
        let text = Self::of_page(&url);
        let kept = PageUrl::parse(&format!("/jobs?{text}"));
        if let Some((name, _)) =
            url.pairs().iter().find(|(name, value)| !value.is_empty() && kept.get(name).is_none())
        {
            let name: String = name.chars().take(40).collect();
            return Err(format!(
                "is the query string of /jobs, which has no parameter “{name}” to keep: its filters, sort, columns, limit"
            ));
        }
        let ListQuery { filter, order, .. } = ListQuery::parse(&text).map_err(|error| error.to_string())?;
        job_columns::of(&kept).map_err(|error| error.to_string())?;
        narrowing::check(&filter, now).map_err(|faults| faults.to_string())?;
        if order == Order::Oldest && !narrowing::may_begin_with_oldest(&filter) {
            return Err(
                "sort=oldest needs a status other than completed and cancelled, max_age or created_after"
                    .to_owned(),
            );
        }
        Ok(Self { text, filter })
    }

    /// Whether two query strings are the same view, whatever the order of their parameters.
    pub fn is_same(a: &str, b: &str) -> bool {
        let sorted = |query: &str| {
            let mut pairs = PageUrl::parse(&format!("/jobs?{query}")).pairs().to_vec();
            pairs.retain(|(_, value)| !value.is_empty());
            pairs.sort();
            pairs
        };
        sorted(a) == sorted(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_order_and_columns_are_kept_and_the_page_is_not() {
        let url = PageUrl::parse(
            "/jobs?columns=app&status=failed&cursor=c1&ticked=all&notice=paused&payload.a=1&sort=oldest&limit=20",
        );
        let query = SavedQuery::of_page(&url);
        assert_eq!(query, "status=failed&payload.a=1&sort=oldest&columns=app&limit=20");
        assert!(SavedQuery::is_same(&query, "limit=20&columns=app&sort=oldest&payload.a=1&status=failed"));
        assert!(!SavedQuery::is_same(&query, "status=failed"));
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
