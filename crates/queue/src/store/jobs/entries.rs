//! Entries of the queue: a job that waits is found by its entry in `ready`, or by the one in `waiting` until its time has come.
//!
//! Which jobs have an entry says the view `unqueued_jobs`: those that are not held and, of a serialize key, the first of its line alone. The
//! statements that accept and end jobs make those of jobs without a key, and of jobs that a worker had; everything else lets jobs in here.

use super::cancel::lock;
use crate::error::QueueError;
use model::id::JobId;
use sqlx::PgConnection;

/// Lets those of the jobs into the queue that belong there and are not in it; answers how many.
///
/// The caller has locked their rows, or the keys of which they are the first: who else would let them in waits for that.
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

/// Takes jobs out of the queue; their rows are locked now.
pub(super) async fn leave_queue(connection: &mut PgConnection, ids: &[JobId]) -> Result<(), QueueError> {
    lock(connection, ids).await?;
    // What follows in this transaction is planned for the tables as they are, not as they were when the plan was kept.
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
