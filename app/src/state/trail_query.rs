//! The search of the records page in its address.

use super::{page_url::PageUrl, url_filters::BadQuery};
use model::trail::TrailQuery;

const FIELDS: [&str; 4] = ["q", "as", "app_id", "record_type"];

/// Reads a query string; other parameters are ignored. None: nothing was searched.
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
    fn a_search_is_read_and_an_empty_one_is_none() {
        let asked = parse("q=product+4711&as=record&cursor=c&notice=x").expect("readable").expect("a search");
        assert_eq!((asked.q.as_str(), asked.reading), ("product 4711", Some(TrailReading::Record)));
        assert_eq!(parse("q=+&as=record").expect("readable"), None);
        for query in ["q=1&as=order", "q=1&app_id=x", "q=%00"] {
            assert!(parse(query).is_err(), "{query}");
        }
    }
}
