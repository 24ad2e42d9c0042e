//! Entries of the queue: a waiting job is found by its entry in `ready`, or in `waiting` until its time has come.
//!
//! The view `unqueued_jobs` defines which jobs ought to have an entry: those that are not parked and, of each serialize key, only the head. The
//! statements that accept and end jobs insert the entries of jobs without a key, and of jobs that a worker had; all others are inserted here.

use crate::{error::QueueError, store::jobs::cancel::one::lock};
use model::id::JobId;
use sqlx::PgConnection;

/// Inserts the entries of those of the jobs that ought to have one and have none; returns how many.
///
/// The caller has locked their rows, or the keys whose heads they are: anybody else who would insert the entries waits for these locks.
pub(crate) async fn enter_queue(connection: &mut PgConnection, ids: &[JobId]) -> Result<i64, QueueError> {
    if ids.is_empty() {
        return Ok(0);
    }
    let entered = sqlx::query_scalar!(
        r#"
        with found as materialized (
            select u.id, u.integration_id, u.rank, u.created_at, u.due_at, u.due_at <= clock_timestamp() as is_due
            from unnest($1::uuid[]) as g (id)
            cross join lateral (
                select u.id, u.integration_id, u.rank, u.created_at, u.due_at from headgate.unqueued_jobs u where u.id = g.id offset 0
            ) u
        ), later as (
            insert into headgate.waiting (due_at, job_id, integration_id)
            select due_at, id, integration_id from found where not is_due
            on conflict (job_id) do nothing
        ), now_ready as (
            insert into headgate.ready (integration_id, rank, created_at, job_id)
            select integration_id, rank, created_at, id from found where is_due
            on conflict do nothing
        )
        select count(*) as "entered!" from found
        "#,
        ids as &[JobId],
    )
    // Planned for the tables as they are: see `finish::BEGIN`.
    .persistent(false)
    .fetch_one(connection)
    .await?;
    Ok(entered)
}

/// Locks jobs and removes their entries.
pub(in crate::store::jobs) async fn leave_queue(
    connection: &mut PgConnection,
    ids: &[JobId],
) -> Result<(), QueueError> {
    lock(connection, ids).await?;
    // The statements that follow in this transaction are planned for the tables as they are, not as they were when the plan was cached.
    sqlx::query!("select set_config('plan_cache_mode', 'force_custom_plan', true)")
        .fetch_one(&mut *connection)
        .await?;
    sqlx::query!("delete from headgate.waiting where job_id = any ($1)", ids as &[JobId])
        .execute(&mut *connection)
        .await?;
    sqlx::query!(
        r#"
        delete from headgate.ready r using headgate.jobs j
        where j.id = any ($1) and r.integration_id = j.integration_id and r.rank = j.rank and r.created_at = j.created_at
            and r.job_id = j.id
        "#,
        ids as &[JobId]
    )
    .execute(connection)
    .await?;
    Ok(())
}
