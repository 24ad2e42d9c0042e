//! Keyset pages: newest first; the next page begins after the last id of this one.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Items of a page by default.
pub const DEFAULT_LIMIT: i64 = 50;
/// Maximum number of items of a page.
pub const MAX_LIMIT: i64 = 500;

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Page<T> {
    /// Newest first.
    pub items: Vec<T>,
    /// Cursor of the next page; null on the last. A page may be shorter than requested, or empty, without being the last: with a filter that has no
    /// index, and when its payloads or records exceed 8 MB.
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// A page of rows that were read with one more than `limit`: a surplus row means that there is a next page.
    #[must_use]
    pub fn from_surplus(mut rows: Vec<T>, limit: i64, id: impl Fn(&T) -> Uuid) -> Self {
        let limit = usize::try_from(limit).unwrap_or(0);
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let next_cursor =
            if has_more { rows.last().map(|last| Cursor::After(id(last)).to_string()) } else { None };
        Self { items: rows, next_cursor }
    }

    /// Continues the next page after `bound`, up to which rows were scanned, unless this page was full before.
    #[must_use]
    pub fn scanned_until(self, bound: Option<Uuid>) -> Self {
        let here = bound.map(|id| Cursor::After(id).to_string());
        Self { next_cursor: self.next_cursor.or(here), ..self }
    }

    /// The request for the next page.
    #[must_use]
    pub fn following(&self, limit: i64) -> Option<PageRequest> {
        let cursor = self.next_cursor.as_deref()?;
        PageRequest::parse(Some(limit), Some(cursor)).ok()
    }

    /// Converts the items.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(change).collect(), next_cursor: self.next_cursor }
    }
}

/// Order of a list. Ids sort by time, and every list has an index on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The newest first.
    #[default]
    Newest,
    /// The oldest first.
    Oldest,
}

/// Request for a page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// 1 to 500.
    pub limit: i64,
    /// The last id of the page before.
    pub after: Option<Uuid>,
}

impl Default for PageRequest {
    fn default() -> Self {
        Self { limit: DEFAULT_LIMIT, after: None }
    }
}

impl PageRequest {
    /// Reads `limit` and `cursor` as the API and the console's URLs write them.
    ///
    /// # Errors
    /// A sentence naming the parameter and what is accepted.
    pub fn parse(limit: Option<i64>, cursor: Option<&str>) -> Result<Self, PageError> {
        let limit = limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(PageError::Limit);
        }
        let after = cursor.map(str::parse::<Cursor>).transpose()?.map(|Cursor::After(id)| id);
        Ok(Self { limit, after })
    }
}

/// Why a page cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// `limit` out of range.
    #[error("limit must be 1 to 500")]
    Limit,
    /// Not a cursor from an answer.
    #[error("cursor is not one that a list returned: start again without it")]
    Cursor,
}

/// The wire form of "after this id": `c1` and 32 hex digits, opaque to callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cursor {
    After(Uuid),
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self::After(id) = self;
        write!(f, "c1{}", id.simple())
    }
}

impl std::str::FromStr for Cursor {
    type Err = PageError;
    fn from_str(text: &str) -> Result<Self, PageError> {
        let id = text.strip_prefix("c1").filter(|id| id.len() == 32).ok_or(PageError::Cursor)?;
        Uuid::try_parse(id).map(Self::After).map_err(|_| PageError::Cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surplus_row_makes_a_next_cursor_that_reads_back() {
        let ids: Vec<Uuid> = (0..3).map(|_| Uuid::now_v7()).collect();
        let page = Page::from_surplus(ids.clone(), 2, |id| *id);
        assert_eq!(page.items, ids[..2]);
        let next = PageRequest::parse(Some(2), page.next_cursor.as_deref()).unwrap();
        assert_eq!(next.after, Some(ids[1]));
        assert_eq!(Page::from_surplus(ids, 3, |id| *id).next_cursor, None);
    }

    #[test]
    fn broken_cursors_and_limits_are_refused() {
        for cursor in ["", "x", "c1", "c1zz", "c2018f0000000070008000000000000000"] {
            assert_eq!(PageRequest::parse(None, Some(cursor)), Err(PageError::Cursor), "{cursor}");
        }
        for limit in [0, -1, 501] {
            assert_eq!(PageRequest::parse(Some(limit), None), Err(PageError::Limit));
        }
    }
}
