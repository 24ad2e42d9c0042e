//! Pages of items that may be large are read in small parts and end once they are large enough, so that the memory of a page is bounded.

use super::{extract::Pages, problem::Problem};
use model::{json::count_bytes, page::Page};
use serde::Serialize;

/// Items of the first part, before it is known how large they are: a payload or record has a megabyte at most.
const FIRST_ITEMS: i64 = 10;
/// Items of a later part at most, if those before were small: a page of the usual length (50) takes two reads.
const MAX_ITEMS: usize = 40;
/// A page ends with the part that reaches this size.
const MAX_PAGE_BYTES: usize = 8_000_000;

pub(super) async fn read_in_parts<T, P, E, F>(mut page: P, read: impl Fn(P) -> F) -> Result<Page<T>, Problem>
where
    F: Future<Output = Result<Page<T>, E>>,
    T: Serialize,
    P: Pages,
    Problem: From<E>,
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
