//! Keyset pages of lists whose key is type and id instead of a UUID: the catalog and sent state. In key order, because people look for a
//! record by its key.

use crate::id::AppId;
use crate::page::{DEFAULT_LIMIT, MAX_LIMIT, Page, PageError};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

/// The page that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPageRequest {
    /// 1 to 500.
    pub limit: i64,
    /// The last key of the previous page.
    pub after: Option<RecordCursor>,
}

/// The last key of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordCursor {
    /// Only in lists of several apps.
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    pub app_id: Option<AppId>,
    /// The record's type.
    #[serde(rename = "t")]
    pub record_type: String,
    /// The record's id.
    #[serde(rename = "i")]
    pub record_id: String,
}

impl Default for RecordPageRequest {
    fn default() -> Self {
        Self { limit: DEFAULT_LIMIT, after: None }
    }
}

impl RecordPageRequest {
    /// Reads `limit` and `cursor` as the API and the console's URLs write them.
    ///
    /// # Errors
    /// A sentence naming the parameter and what is accepted.
    pub fn parse(limit: Option<i64>, cursor: Option<&str>) -> Result<Self, PageError> {
        let limit = limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(PageError::Limit);
        }
        let after = cursor.map(|cursor| decode(cursor).ok_or(PageError::Cursor)).transpose()?;
        Ok(Self { limit, after })
    }
}

/// Opaque to callers: `r1` and base64 of the key.
fn encode(cursor: &RecordCursor) -> Option<String> {
    serde_json::to_vec(cursor).ok().map(|key| format!("r1{}", URL_SAFE_NO_PAD.encode(key)))
}

fn decode(text: &str) -> Option<RecordCursor> {
    let key = URL_SAFE_NO_PAD.decode(text.strip_prefix("r1")?).ok()?;
    let cursor: RecordCursor = serde_json::from_slice(&key).ok()?;
    let is_storable = !cursor.record_type.contains('\0') && !cursor.record_id.contains('\0');
    is_storable.then_some(cursor)
}

/// Makes a page of rows, of which one more than `limit` was read.
#[must_use]
pub fn from_surplus<T>(mut rows: Vec<T>, limit: i64, key: impl Fn(&T) -> RecordCursor) -> Page<T> {
    let limit = usize::try_from(limit).unwrap_or(0);
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next_cursor = if has_more { rows.last().and_then(|last| encode(&key(last))) } else { None };
    Page { items: rows, next_cursor }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_next_cursor_reads_back_and_anything_else_is_refused() {
        let key = |id: &str| RecordCursor { app_id: None, record_type: "tür".into(), record_id: id.into() };
        let page = from_surplus(vec!["a", "b", "c"], 2, |id| key(id));
        assert_eq!(page.items, ["a", "b"]);
        let next = RecordPageRequest::parse(Some(2), page.next_cursor.as_deref()).unwrap();
        assert_eq!(next.after, Some(key("b")));
        assert_eq!(from_surplus(vec!["a"], 1, |id| key(id)).next_cursor, None);
        let with_nul = encode(&key("a\0")).unwrap();
        for cursor in ["", "r1", "x", "c1018f", "r1e30", &with_nul] {
            assert_eq!(RecordPageRequest::parse(None, Some(cursor)), Err(PageError::Cursor), "{cursor}");
        }
        assert_eq!(RecordPageRequest::parse(Some(0), None), Err(PageError::Limit));
    }
}
