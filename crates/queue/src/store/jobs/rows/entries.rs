//! Entries of the queue: a waiting job is found by its entry in `ready`, or in `waiting` until its time has come.
//!
//! The view `unqueued_jobs` defines which jobs ought to have an entry: those that are not parked and, of each serialize key, only the head. The
//! statements that accept and end jobs insert the entries of jobs without a key, and of jobs that a worker had; all others are inserted here.

use crate::{error::Result, store::jobs::rows::lock::lock};
use model::id::JobId;
use sqlx::PgConnection;

/// Inserts the entries of those of the jobs that ought to have one and have none; returns how many.
///
/// The caller has locked their rows, or the keys whose heads they are: anybody else who would insert the entries waits for these locks.
pub(crate) async fn enter_queue(connection: &mut PgConnection, ids: &[JobId]) -> Result<i64> {
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
pub(crate) async fn leave_queue(connection: &mut PgConnection, ids: &[JobId]) -> Result<()> {
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

/// Moves the `ready` entries of jobs that became more urgent. It is a statement of its own, because it must see what was committed while the fold
/// waited for the job's row. It never waits for an entry, as a claim that has one locked never waits for a job. (A promotion locks the job, so
/// none can insert an entry with the old rank meanwhile.)
pub(crate) async fn move_up(connection: &mut PgConnection, jobs: &[JobId]) -> Result<()> {
    sqlx::query!(
        r#"
        with old as materialized (
            select r.integration_id, r.rank, r.created_at, r.job_id
            from headgate.jobs j
            join headgate.ready r on r.integration_id = j.integration_id and r.rank = j.previous_rank
                and r.created_at = j.created_at and r.job_id = j.id
            where j.id = any ($1)
            for update of r skip locked
        ), gone as materialized (
            delete from headgate.ready r using old o
            where r.integration_id = o.integration_id and r.rank = o.rank and r.created_at = o.created_at and r.job_id = o.job_id
            returning r.job_id
        )
        insert into headgate.ready (integration_id, rank, created_at, job_id)
        select j.integration_id, j.rank, j.created_at, j.id from gone g join headgate.jobs j on j.id = g.job_id
        on conflict do nothing
        "#,
        jobs as &[JobId],
    )
    // Planned for the table as it is: see `finish::BEGIN`.
    .persistent(false)
    .execute(connection)
    .await?;
    Ok(())
}

/// Moves the `waiting` entries of pending jobs to their earlier `run_at`, or to `ready` when that time has come.
pub(crate) async fn bring_forward(connection: &mut PgConnection, jobs: &[JobId]) -> Result<()> {
    sqlx::query!(
        r#"
        with old as materialized (
            select w.due_at, w.job_id, j.run_at, j.integration_id, j.rank, j.created_at, j.run_at <= clock_timestamp() as is_due
            from headgate.jobs j
            join headgate.waiting w on w.job_id = j.id
            where j.id = any ($1) and j.status = 0 and j.run_at < w.due_at
            for update of w skip locked
        ), gone as materialized (
            delete from headgate.waiting w using old o
            where w.due_at = o.due_at and w.job_id = o.job_id and o.is_due
            returning w.job_id
        ), moved as (
            update headgate.waiting w set due_at = o.run_at from old o
            where w.due_at = o.due_at and w.job_id = o.job_id and not o.is_due
        )
        insert into headgate.ready (integration_id, rank, created_at, job_id)
        select o.integration_id, o.rank, o.created_at, o.job_id from gone g join old o on o.job_id = g.job_id
        on conflict do nothing
        "#,
        jobs as &[JobId],
    )
    // Planned for the table as it is: see `finish::BEGIN`.
    .persistent(false)
    .execute(connection)
    .await?;
    Ok(())
}
