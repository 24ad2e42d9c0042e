//! Jobs whose time was over before anybody could claim them.
//!
//! A claim ends what has expired when it takes it (`claim.sql`). What no claim takes, because its integration is paused, held, broken or
//! limited, because it waits for its time, its retry or its key, or because its re-sync is paused, is ended here, and what that leaves
//! behind is the same: an attempt that is counted and took no time, `cancelled`, with the outcome `expired`.

use super::{
    cancel::{CalledOff, Reach, call_off, leave_lines},
    keys,
};
use crate::error::QueueError;
use chrono::{DateTime, Utc};
use model::id::{IntegrationId, JobId, WorkerId};
use sqlx::PgConnection;
use std::collections::HashSet;

/// A job that has expired, and since when: the order in which they are looked through.
pub(crate) type Since = (DateTime<Utc>, JobId);

/// The next `most` jobs that have expired and that nobody processes, after one of them, but for some. By a cursor, because those that cannot
/// be ended yet would hide all others.
///
/// # Errors
/// When the database is away.
pub(crate) async fn expired(
    connection: &mut PgConnection,
    after: Option<Since>,
    most: i64,
    but_for: &[JobId],
) -> Result<Vec<Since>, QueueError> {
    let rows = sqlx::query!(
        r#"
        select j.expires_at as "expires_at!", j.id as "id: JobId" from headgate.jobs j
        where j.expires_at <= (select clock_timestamp()) and j.status <> 1 and j.id <> all ($4)
            and (j.expires_at, j.id) > (coalesce($1::timestamptz, '-infinity'), coalesce($2::uuid, '00000000-0000-0000-0000-000000000000'))
        order by j.expires_at, j.id
        limit $3
        "#,
        after.map(|(at, _)| at),
        after.map(|(_, id)| id.0),
        most,
        but_for as &[JobId],
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.expires_at, row.id)).collect())
}

/// Ends those of the jobs that have expired still, in the name of a process; answers how many. What somebody else holds right now, itself or
/// the key that it would leave, is passed over. Call it in a transaction, and wake the workers after the commit.
///
/// # Errors
/// When the database is away, refuses one of them, or the statement lost a race: nothing is changed.
pub(crate) async fn expire(
    connection: &mut PgConnection,
    ids: &[JobId],
    by: WorkerId,
) -> Result<usize, QueueError> {
    let free = free(connection, ids).await?;
    if free.is_empty() {
        return Ok(0);
    }
    let CalledOff { ended, .. } = call_off(connection, &free, "expired", Reach::Expired { by }).await?;
    leave_lines(connection, &ended).await?;
    Ok(ended.len())
}

/// Those of the jobs that have expired under their lock and that can be ended without waiting for anybody; their rows are locked now, and so
/// are their integrations and the keys that they leave.
///
/// Against the order of locks, which is no matter where nothing is waited for: a producer holds what it folds into, and the line it stands
/// in, for as long as it likes, and whoever deletes an integration holds that. As the sweep does (`lose.rs`).
async fn free(connection: &mut PgConnection, ids: &[JobId]) -> Result<Vec<JobId>, QueueError> {
    let rows = sqlx::query!(
        r#"
        with locked as materialized (
            select j.id, j.integration_id, j.serialize_key, j.successor ->> 'serialize_key' as successor_key
            from unnest($1::uuid[]) as g (id)
            cross join lateral (
                select j.id, j.integration_id, j.serialize_key, j.successor from headgate.jobs j
                -- A fold may have given it more time.
                where j.id = g.id and j.status <> 1 and j.expires_at <= clock_timestamp()
                for update skip locked offset 0
            ) j
        ), present as materialized (
            select l.integration_id, i.id
            from (select distinct integration_id from locked) l
            left join lateral (
                select i.id from headgate.integrations i where i.id = l.integration_id for key share skip locked offset 0
            ) i on true
        )
        select l.id as "id!: JobId", l.integration_id as "integration_id!: IntegrationId", l.serialize_key, l.successor_key
        from locked l
        join present p on p.integration_id = l.integration_id
        where p.id is not null or not exists (select 1 from headgate.integrations x where x.id = l.integration_id)
        "#,
        ids as &[JobId],
    )
    .fetch_all(&mut *connection)
    .await?;
    let (mut needed_by, mut lanes, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    for row in &rows {
        for key in [&row.serialize_key, &row.successor_key].into_iter().flatten() {
            needed_by.push(row.id);
            lanes.push(row.integration_id);
            keys.push(key.clone());
        }
    }
    let mut held: HashSet<JobId> = HashSet::new();
    if !keys.is_empty() {
        let places = keys::lock_free(connection, &lanes, &keys).await?;
        held.extend(places.into_iter().filter_map(|n| needed_by.get(usize::try_from(n - 1).ok()?)));
    }
    Ok(rows.iter().map(|row| row.id).filter(|id| !held.contains(id)).collect())
}
