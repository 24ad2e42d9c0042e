//! Which ends would have to wait because another transaction has locked the job's row or its serialize key.
//!
//! A producer that folds a change into a running job locks its row until it commits, and one that enqueues a job with the same key locks the key,
//! for as long as it likes. So the ends of a batch whose `lock_timeout` ran out are split without waiting: rows and keys that are free are locked
//! here, in the order of locks, so that their ends can be written at once; the other ends are returned.

use crate::error::Result;
use crate::store::jobs::finish::end::AttemptEnd;
use crate::store::jobs::rows::keys;
use model::id::{IntegrationId, JobId};
use sqlx::PgConnection;
use std::collections::HashSet;

/// Locks the jobs and keys of these ends as far as it can without waiting, and returns the indexes of those that are locked elsewhere.
pub(crate) async fn locked_elsewhere(
    connection: &mut PgConnection,
    ends: &[AttemptEnd],
) -> Result<HashSet<usize>> {
    let keyed: Vec<(usize, IntegrationId, String)> = ends
        .iter()
        .enumerate()
        // Also those that go on: as in `finish`.
        .filter_map(|(at, end)| Some((at, end.integration_id, end.serialize_key.clone()?)))
        .collect();
    let mut locked = keys::try_lock_keys(connection, &keyed).await?;

    let mut order: Vec<usize> = (0..ends.len()).filter(|at| !locked.contains(at)).collect();
    order.sort_by(|a, b| ends[*a].lock_order().cmp(&ends[*b].lock_order()));
    let ids: Vec<JobId> = order.iter().map(|at| ends[*at].job_id).collect();
    let rows = sqlx::query!(
        r#"
        select g.n as "n!", j.id is null as "is_locked!", j.successor ->> 'serialize_key' as successor_key
        from (select u.id, u.n from unnest($1::uuid[]) with ordinality as u (id, n) order by u.n) g
        left join lateral (
            select j.id, j.successor from headgate.jobs j where j.id = g.id
            for update skip locked offset 0
        ) j on true
        -- A row that does not exist is no lock to wait for: the job has ended.
        where (j.id is null and exists (select 1 from headgate.jobs x where x.id = g.id)) or j.successor ->> 'serialize_key' is not null
        "#,
        &ids as &[JobId],
    )
    .fetch_all(&mut *connection)
    .await?;
    // A successor's key is needed when it becomes the row.
    let mut successors = Vec::new();
    for row in rows {
        let Some(at) = usize::try_from(row.n - 1).ok().and_then(|n| order.get(n).copied()) else { continue };
        if row.is_locked {
            locked.insert(at);
        } else if let Some(key) = row.successor_key {
            successors.push((at, ends[at].integration_id, key));
        }
    }
    locked.extend(keys::try_lock_keys(connection, &successors).await?);
    Ok(locked)
}
