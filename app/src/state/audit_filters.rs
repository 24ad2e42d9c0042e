//! Filters of the audit log in the URL.

use super::page_url::PageUrl;
use super::url_filters::{self, BadQuery};
use crate::format;
use model::{audit::AuditFilter, page::PageRequest};

/// The parameters that belong to the filter.
const FIELDS: [&str; 8] = [
    "action",
    "actor_id",
    "actor_name",
    "app_id",
    "object_kind",
    "object_id",
    "created_after",
    "created_before",
];

/// Filter and page of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    pub filter: AuditFilter,
    pub page: PageRequest,
}

impl AuditQuery {
    /// Reads a query string. Times are RFC 3339, or values of a `datetime-local` field, which are read as UTC.
    pub fn parse(query: &str) -> Result<Self, BadQuery> {
        // The page size is fixed.
        let asked = PageUrl::parse(&format!("/?{query}")).without("limit");
        let url = FIELDS.iter().fold(asked.clone(), |url, name| match asked.get(name).map(str::trim) {
            Some(value) => {
                let at = format::parse_local(value).filter(|_| name.starts_with("created_"));
                url.with(name, at.map_or_else(|| value.to_owned(), format::rfc3339))
            }
            None => url,
        });
        Ok(Self { filter: url_filters::read(&url, &FIELDS)?, page: url_filters::page(&url.query())? })
    }
}

pub fn is_narrowed(url: &PageUrl) -> bool {
    FIELDS.iter().any(|name| url.get(name).is_some())
}

/// The address without filters.
pub fn cleared(url: &PageUrl) -> PageUrl {
    url_filters::without(url, &FIELDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_for_date_and_time_is_read_as_utc() {
        let query = AuditQuery::parse("created_after=2026-11-20T14%3A46&action=integration.pause&notice=x")
            .expect("a filter");
        let after = query.filter.created_after.map(format::rfc3339);
        assert_eq!(after.as_deref(), Some("2026-11-20T14:46:00.000Z"));
        assert_eq!(query.filter.action.as_deref(), Some("integration.pause"));
    }

    #[test]
    fn what_cannot_be_read_is_an_error_and_not_an_empty_filter() {
        for query in ["created_after=today", "app_id=1", "cursor=x", "actor_name=%00"] {
            assert!(AuditQuery::parse(query).is_err(), "{query}");
        }
    }

    #[test]
    fn clearing_keeps_what_is_no_filter() {
        let url = PageUrl::parse("/audit-log?action=user.update&cursor=c&x=1");
        assert!(is_narrowed(&url));
        assert_eq!(cleared(&url).to_string(), "/audit-log?x=1");
    }
}
