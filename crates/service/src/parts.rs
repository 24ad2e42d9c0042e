//! Pages of items that may be large are read in small parts and end once they are large enough, so that the memory of a page is bounded.

use crate::ServiceError;
use model::dead_letter::{BinPageRequest, GroupPageRequest};
use model::json::count_bytes;
use model::page::{Page, PageError, PageRequest};
use model::record_page::RecordPageRequest;
use serde::Serialize;

/// A page request with its kind of cursor.
pub trait Pages: Sized {
    /// From the parameters of a request.
    ///
    /// # Errors
    /// Which of the two is wrong.
    fn parse(limit: Option<i64>, cursor: Option<&str>) -> Result<Self, PageError>;

    /// How many items are wanted.
    fn limit(&mut self) -> &mut i64;
}

impl Pages for PageRequest {
    fn parse(limit: Option<i64>, cursor: Option<&str>) -> Result<Self, PageError> {
        Self::parse(limit, cursor)
    }

    fn limit(&mut self) -> &mut i64 {
        &mut self.limit
    }
}

impl Pages for BinPageRequest {
    fn parse(limit: Option<i64>, cursor: Option<&str>) -> Result<Self, PageError> {
        Self::parse(limit, cursor)
    }

    fn limit(&mut self) -> &mut i64 {
        &mut self.limit
    }
}

impl Pages for GroupPageRequest {
    fn parse(limit: Option<i64>, cursor: Option<&str>) -> Result<Self, PageError> {
        Self::parse(limit, cursor)
    }

    fn limit(&mut self) -> &mut i64 {
        &mut self.limit
    }
}

impl Pages for RecordPageRequest {
    fn parse(limit: Option<i64>, cursor: Option<&str>) -> Result<Self, PageError> {
        Self::parse(limit, cursor)
    }

    fn limit(&mut self) -> &mut i64 {
        &mut self.limit
    }
}

/// Items of the first part, before it is known how large they are: a payload or record has a megabyte at most.
const FIRST_ITEMS: i64 = 10;
/// Items of a later part at most, if those before were small: a page of the usual length (50) takes two reads.
const MAX_ITEMS: usize = 40;
/// A page ends with the part that reaches this size.
const MAX_PAGE_BYTES: usize = 8_000_000;

/// Reads a page with `read`, which reads a part.
///
/// # Errors
/// Those of `read`.
pub(crate) async fn read_in_parts<T, P, E, F>(
    mut page: P,
    read: impl Fn(P) -> F,
) -> Result<Page<T>, ServiceError>
where
    F: Future<Output = Result<Page<T>, E>>,
    T: Serialize,
    P: Pages,
    ServiceError: From<E>,
{
    let mut left = *page.limit();
    let (mut items, mut room, mut largest, mut next_items) = (Vec::new(), MAX_PAGE_BYTES, 1, FIRST_ITEMS);
    loop {
        let limit = left.min(next_items);
        *page.limit() = limit;
        let Page { items: part, next_cursor } = read(page).await?;
        // Fewer than asked for, yet not the last: the query stopped at its scan limit, and so does the page.
        let is_cut = i64::try_from(part.len()).is_ok_and(|n| n < limit);
        left -= limit;
        for bytes in part.iter().map(count_bytes) {
            room = room.saturating_sub(bytes);
            largest = largest.max(bytes);
        }
        next_items =
            i64::try_from((room / largest).min(MAX_ITEMS)).map_or(FIRST_ITEMS, |n| n.max(FIRST_ITEMS));
        items.extend(part);
        let is_full = left == 0 || room == 0 || is_cut;
        match next_cursor.as_deref().filter(|_| !is_full).map(|cursor| P::parse(Some(left), Some(cursor))) {
            Some(Ok(following)) => page = following,
            Some(Err(_)) | None => return Ok(Page { items, next_cursor }),
        }
    }
}
