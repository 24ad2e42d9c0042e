//! Which ends would have to wait: a transaction of somebody else's holds the job's row, or its serialize key.
//!
//! A producer that folds a change into a running job locks its row until it commits, and one that enqueues behind it locks its key. How
//! long that takes is the producer's affair. So the ends of a batch that lost its patience are sifted, without waiting for anything: what
//! is free is locked here, in the order of locks, and can be written at once; the rest is named.

use crate::{
    error::QueueError,
    store::jobs::{End, keys},
};
use model::id::{IntegrationId, JobId};
use sqlx::PgConnection;
use std::collections::HashSet;

/// Locks what is free of these ends, waits for nothing, and answers which of them are held, by their place.
///
/// # Errors
/// When the database is away.
pub(crate) async fn held_elsewhere(
    connection: &mut PgConnection,
    ends: &[End],
) -> Result<HashSet<usize>, QueueError> {
    let keyed: Vec<(usize, IntegrationId, String)> = ends
        .iter()
        .enumerate()
        // Also of those that go on: as in `finish`.
        .filter_map(|(at, end)| Some((at, end.integration_id, end.serialize_key.clone()?)))
        .collect();
    let mut held = keys::lock_free(connection, &keyed).await?;

    let mut order: Vec<usize> = (0..ends.len()).filter(|at| !held.contains(at)).collect();
    order.sort_by(|a, b| ends[*a].lock_order().cmp(&ends[*b].lock_order()));
    let ids: Vec<JobId> = order.iter().map(|at| ends[*at].job_id).collect();
    let rows = sqlx::query!(
        r#"
        select g.n as "n!", j.id is null as "is_held!", j.successor ->> 'serialize_key' as successor_key
        from (select u.id, u.n from unnest($1::uuid[]) with ordinality as u (id, n) order by u.n) g
        left join lateral (
            select j.id, j.successor from headgate.jobs j where j.id = g.id
            for update skip locked offset 0
        ) j on true
        -- A row that is not there at all has come to its end: that is known at once.
        where (j.id is null and exists (select 1 from headgate.jobs x where x.id = g.id)) or j.successor ->> 'serialize_key' is not null
        "#,
        &ids as &[JobId],
    )
    .fetch_all(&mut *connection)
    .await?;
    // A successor's key is locked when it becomes the row.
    let mut behind = Vec::new();
    for row in rows {
        let Some(at) = usize::try_from(row.n - 1).ok().and_then(|n| order.get(n).copied()) else { continue };
        if row.is_held {
            held.insert(at);
        } else if let Some(key) = row.successor_key {
            behind.push((at, ends[at].integration_id, key));
        }
    }
    held.extend(keys::lock_free(connection, &behind).await?);
    Ok(held)
}
