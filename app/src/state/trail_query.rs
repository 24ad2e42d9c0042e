//! What the records page was asked, in its address.

use super::{page_url::PageUrl, url_filters::BadQuery};
use model::trail::TrailQuery;

/// The parameters that are the question.
const FIELDS: [&str; 4] = ["q", "as", "app_id", "record_type"];

/// Reads a query string; parameters of no question are left alone. None: nothing was asked.
///
/// # Errors
/// A sentence that names what is wrong.
pub fn parse(query: &str) -> Result<Option<TrailQuery>, BadQuery> {
    let url = PageUrl::parse(&format!("/?{query}"));
    if url.get("q").is_none_or(|q| q.trim().is_empty()) {
        return Ok(None);
    }
    super::url_filters::read(&url, &FIELDS).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::trail::TrailReading;

    #[test]
    fn a_question_is_read_and_nothing_is_none() {
        let asked =
            parse("q=product+4711&as=record&cursor=c&notice=x").expect("readable").expect("a question");
        assert_eq!((asked.q.as_str(), asked.reading), ("product 4711", Some(TrailReading::Record)));
        assert_eq!(parse("q=+&as=record").expect("readable"), None);
        for query in ["q=1&as=order", "q=1&app_id=x", "q=%00"] {
            assert!(parse(query).is_err(), "{query}");
        }
    }
}
