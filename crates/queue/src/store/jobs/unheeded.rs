//! Cancels that nobody heeded.
//!
//! A job that is called off while it is processed is ended by its worker, whatever comes of the attempt. A worker of an older version,
//! beside which this one runs during an upgrade, knows nothing of that: when its attempt fails, or it stops, the job goes on. So each such
//! request is written down (`cancel_requests`), and the leader finds the jobs that are not with the lease which was asked to let go of them.

use crate::{error::QueueError, store::leader::Term};
use model::id::{JobId, WorkerId};
use sqlx::PgPool;

/// Requests forgotten at once.
const CHUNK: i64 = 1_000;

/// Up to `most` jobs that were called off and go on all the same, but for some. A job that was requeued after its cancel is another row: it
/// bears no mark, and a change that took the row over has an id of its own.
///
/// # Errors
/// When the database is away.
pub(crate) async fn unheeded(pool: &PgPool, most: i64, but_for: &[JobId]) -> Result<Vec<JobId>, QueueError> {
    let found = sqlx::query_scalar!(
        r#"
        select r.job_id as "id: JobId"
        from headgate.cancel_requests r
        -- One probe each, whatever the planner believes about the table.
        cross join lateral (
            select j.status, j.assignment_id from headgate.jobs j
            where j.id = r.job_id and j.cancel_requested_of = r.assignment_id offset 0
        ) j
        where (j.status <> 1 or j.assignment_id <> r.assignment_id) and r.job_id <> all ($2)
        order by r.job_id
        limit $1
        "#,
        most,
        but_for as &[JobId],
    )
    .fetch_all(pool)
    .await?;
    Ok(found)
}

/// Forgets requests whose jobs have come to their end; answers how many.
///
/// # Errors
/// When the database is away.
pub(crate) async fn forget_requests(pool: &PgPool, term: Term) -> Result<u64, QueueError> {
    let gone = sqlx::query!(
        r#"
        with over as materialized (
            select r.job_id from headgate.cancel_requests r
            -- One that is made again while we look is new again under its lock.
            where r.requested_at < clock_timestamp() - interval '10 seconds'
                and (
                    select j.id from headgate.jobs j where j.id = r.job_id and j.cancel_requested_of = r.assignment_id
                ) is null
                and (select headgate.is_leader($1, $2))
            order by r.job_id
            limit $3
            for update skip locked
        )
        delete from headgate.cancel_requests r using over o where r.job_id = o.job_id
        "#,
        term.holder as WorkerId,
        term.number,
        CHUNK,
    )
    .execute(pool)
    .await?;
    Ok(gone.rows_affected())
}
