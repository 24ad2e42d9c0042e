//! Events that were accepted before, by the id their sender gave them.

use std::{collections::BTreeMap, time::Duration};

use model::id::AppId;
use sqlx::PgConnection;

use super::request::Given;
use crate::{DeliveryError, store::catalog as rows};

/// Stores the ids of the events for a while; returns which of them were stored already. Of two in one request the later repeats the earlier.
pub(super) async fn repeated(
    conn: &mut PgConnection,
    given: &[Given<'_>],
    remembered: Duration,
) -> Result<Vec<bool>, DeliveryError> {
    let mut repeated = vec![false; given.len()];
    // In the order of their keys, in which all transactions lock them.
    let mut first: BTreeMap<(AppId, &str), usize> = BTreeMap::new();
    for (at, given) in given.iter().enumerate() {
        let Some(id) = given.event.id.as_deref() else { continue };
        repeated[at] = *first.entry((given.event.app_id, id)).or_insert(at) != at;
    }
    if !first.is_empty() {
        let keys: Vec<(AppId, &str)> = first.keys().copied().collect();
        let fresh = rows::remember_events(conn, &keys, remembered).await?;
        for ((app_id, id), at) in first {
            repeated[at] = !fresh.contains(&(app_id, id.to_owned()));
        }
    }
    Ok(repeated)
}
