//! Jobs that expire before they can be claimed.
//!
//! An expired job that a claim takes is ended by its worker (`claim_take.sql` marks it). One that no claim takes, because its integration is paused,
//! quiet, limited or has an open breaker, because it waits for its time, its retry or its key, or because its re-sync is paused, is ended
//! here, with the same result: an attempt that is counted and took no time, `cancelled`, with the outcome `expired`.

use crate::error::Result;
use crate::store::jobs::cancel::one::{Cancelled, Reach, cancel_rows, leave_keys};
use crate::store::jobs::cancel::try_lock::try_lock_waiting;
use chrono::{DateTime, Utc};
use model::id::{JobId, WorkerId};
use sqlx::PgConnection;

/// An expired job and since when it is: the order in which they are processed.
pub(crate) type ExpiredJob = (DateTime<Utc>, JobId);

/// The next `limit` expired jobs after a cursor that are not being processed, without the excluded ones. There is a cursor, because jobs that
/// cannot be ended yet would hide all others.
pub(crate) async fn expired(
    connection: &mut PgConnection,
    after: Option<ExpiredJob>,
    limit: i64,
    excluded: &[JobId],
) -> Result<Vec<ExpiredJob>> {
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
        limit,
        excluded as &[JobId],
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.expires_at, row.id)).collect())
}

/// Ends those of the jobs that are still expired, in the name of a worker; returns how many. Jobs that are locked elsewhere, or whose key is, are
/// skipped. Call it in a transaction, and wake the workers after the commit.
///
/// # Errors
/// When the database refuses one of them, or the statement lost a race: nothing is changed.
pub(crate) async fn expire(connection: &mut PgConnection, ids: &[JobId], by: WorkerId) -> Result<usize> {
    let locked = try_lock_waiting(connection, ids, None).await?;
    if locked.is_empty() {
        return Ok(0);
    }
    let Cancelled { ended, .. } = cancel_rows(connection, &locked, "expired", Reach::Expired { by }).await?;
    leave_keys(connection, &ended).await?;
    Ok(ended.len())
}
