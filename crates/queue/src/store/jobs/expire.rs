//! Jobs whose time was over before anybody could claim them.
//!
//! A claim ends what has expired when it takes it (`claim.sql`). What no claim takes, because its integration is paused, held, broken or
//! limited, because it waits for its time, its retry or its key, or because its re-sync is paused, is ended here, and what that leaves
//! behind is the same: an attempt that is counted and took no time, `cancelled`, with the outcome `expired`.

use super::{
    cancel::{CalledOff, Reach, call_off, leave_lines},
    free::free,
};
use crate::error::QueueError;
use chrono::{DateTime, Utc};
use model::id::{JobId, WorkerId};
use sqlx::PgConnection;

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
    let free = free(connection, ids, None).await?;
    if free.is_empty() {
        return Ok(0);
    }
    let CalledOff { ended, .. } = call_off(connection, &free, "expired", Reach::Expired { by }).await?;
    leave_lines(connection, &ended).await?;
    Ok(ended.len())
}
