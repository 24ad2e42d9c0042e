//! Pages of what may be large: read few by few, and ended where they are long enough, so that no list takes memory that nobody asked for.

use super::{extract::Pages, problem::Problem};
use model::{json::count_bytes, page::Page};
use serde::Serialize;

/// Items that are read first, before it is known how large they are: payloads and records have a megabyte each at most.
const FIRST: i64 = 10;
/// Items that are read at once where those before them are small: a page of the usual length takes two reads.
const MOST: usize = 40;
/// What a page has room for; the part that fills it still goes.
const ROOM: usize = 8_000_000;

/// A page of what `read` reads.
///
/// # Errors
/// What `read` is refused with.
pub(super) async fn in_parts<T, P, E, F>(mut page: P, read: impl Fn(P) -> F) -> Result<Page<T>, Problem>
where
    F: Future<Output = Result<Page<T>, E>>,
    T: Serialize,
    P: Pages,
    Problem: From<E>,
{
    let mut left = *page.limit();
    let (mut items, mut room, mut largest, mut fit) = (Vec::new(), ROOM, 1, FIRST);
    loop {
        let most = left.min(fit);
        *page.limit() = most;
        let Page { items: part, next_cursor } = read(page).await?;
        // Fewer than asked for and not the last: that is as far as is looked for one page.
        let is_cut = i64::try_from(part.len()).is_ok_and(|n| n < most);
        left -= most;
        for bytes in part.iter().map(count_bytes) {
            room = room.saturating_sub(bytes);
            largest = largest.max(bytes);
        }
        fit = i64::try_from((room / largest).min(MOST)).map_or(FIRST, |fit| fit.max(FIRST));
        items.extend(part);
        let is_full = left == 0 || room == 0 || is_cut;
        match next_cursor.as_deref().filter(|_| !is_full).map(|cursor| P::parse(Some(left), Some(cursor))) {
            Some(Ok(following)) => page = following,
            Some(Err(_)) | None => return Ok(Page { items, next_cursor }),
        }
    }
}
