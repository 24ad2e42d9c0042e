//! Calling jobs off.

use crate::{
    error::QueueError,
    store::jobs::{get::find, keys},
};
use model::{
    actor::Scope,
    id::{BatchId, IntegrationId, JobId},
    job::{Job, JobStatus},
    rules::transition::can_cancel,
};
use sqlx::PgConnection;

/// Calls a live job off, also one that is being processed: its worker's result will not be recorded.
///
/// Run it in a transaction: it is several statements.
///
/// # Errors
/// [`QueueError::NotFound`], or [`QueueError::WrongState`] when the job has come to its end.
pub async fn cancel(connection: &mut PgConnection, scope: Scope, id: JobId) -> Result<Job, QueueError> {
    // A second round when the job moved between our look and our lock (a successor that became the row).
    for _ in 0..3 {
        let job = find(connection, scope, id).await?.ok_or(QueueError::NotFound)?;
        if !can_cancel(job.status) {
            return Err(QueueError::WrongState { status: job.status, wanted: "cancelled" });
        }
        if let Some(key) = &job.serialize_key {
            keys::lock(connection, &[job.integration_id], std::slice::from_ref(key)).await?;
        }
        let mut ended = call_off(connection, &[id], "cancelled", false).await?;
        if ended.is_empty() {
            ended = drop_successor(connection, id).await?;
        }
        if !ended.is_empty() {
            leave_lines(connection, &ended).await?;
            return find(connection, scope, id).await?.ok_or(QueueError::NotFound);
        }
    }
    Err(QueueError::WrongState { status: JobStatus::Processing, wanted: "cancelled" })
}

/// Calls off every live job of an integration, up to `most` of them: before the integration is deleted. Answers how many; call it
/// again until it answers 0, each time in a transaction of its own.
///
/// # Errors
/// When the database is away, or lost a race: repeat.
pub async fn cancel_of_integration(
    connection: &mut PgConnection,
    integration_id: IntegrationId,
    most: i64,
) -> Result<u64, QueueError> {
    let ids = sqlx::query_scalar!(
        r#"
        select id as "id: JobId" from headgate.jobs where integration_id = $1
        order by deduplication_id nulls last, id limit $2
        "#,
        integration_id.0,
        most
    )
    .fetch_all(&mut *connection)
    .await?;
    let keys: Vec<String> = sqlx::query_scalar!(
        r#"select distinct serialize_key as "key!" from headgate.jobs where id = any ($1) and serialize_key is not null"#,
        &ids as &[JobId]
    )
    .fetch_all(&mut *connection)
    .await?;
    if !keys.is_empty() {
        keys::lock(connection, &vec![integration_id; keys.len()], &keys).await?;
    }
    let ended = call_off(connection, &ids, "the integration was deleted", true).await?;
    leave_lines(connection, &ended).await?;
    Ok(ended.len() as u64)
}

/// Calls off the jobs of a batch that wait, up to `most` of them; those being processed end by themselves. Answers which: call it again
/// until it answers none, each time in a transaction of its own.
///
/// # Errors
/// When the database is away, or lost a race: repeat.
pub async fn cancel_of_batch(
    connection: &mut PgConnection,
    batch_id: BatchId,
    why: &str,
    most: i64,
) -> Result<Vec<JobId>, QueueError> {
    let waiting = sqlx::query!(
        r#"
        select id as "id: JobId", integration_id as "integration_id: IntegrationId", serialize_key from headgate.jobs
        where batch_id = $1 and status <> 1
        order by integration_id, deduplication_id nulls last, id limit $2
        "#,
        batch_id.0,
        most
    )
    .fetch_all(&mut *connection)
    .await?;
    let ids: Vec<JobId> = waiting.iter().map(|job| job.id).collect();
    let mut keyed: Vec<(IntegrationId, String)> =
        waiting.into_iter().filter_map(|job| Some((job.integration_id, job.serialize_key?))).collect();
    keyed.sort();
    keyed.dedup();
    if !keyed.is_empty() {
        let (lanes, keys): (Vec<IntegrationId>, Vec<String>) = keyed.into_iter().unzip();
        keys::lock(connection, &lanes, &keys).await?;
    }
    let ended = call_off(connection, &ids, why, false).await?;
    leave_lines(connection, &ended).await?;
    Ok(ended.into_iter().map(|one| one.id).collect())
}

pub(super) struct Ended {
    pub(super) id: JobId,
    pub(super) integration_id: IntegrationId,
    pub(super) serialize_key: Option<String>,
}

/// The statements in the order that keeps a claim and a cancel from both winning: `waiting`, `ready`, then the row. What a promotion
/// or a claim did in between is seen, because each is a statement of its own.
pub(super) async fn call_off(
    connection: &mut PgConnection,
    ids: &[JobId],
    why: &str,
    with_successors: bool,
) -> Result<Vec<Ended>, QueueError> {
    leave_queue(connection, ids).await?;
    let ended =
        sqlx::query_file_as!(Ended, "src/store/jobs/cancel.sql", ids as &[JobId], why, with_successors)
            .fetch_all(connection)
            .await?;
    Ok(ended)
}

/// Takes jobs out of `waiting` and `ready`.
pub(crate) async fn leave_queue(connection: &mut PgConnection, ids: &[JobId]) -> Result<(), QueueError> {
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

/// Calls off a job that stands behind a row that is being processed.
pub(super) async fn drop_successor(
    connection: &mut PgConnection,
    id: JobId,
) -> Result<Vec<Ended>, QueueError> {
    let ended = sqlx::query_as!(
        Ended,
        r#"
        with found as materialized (
            select j.id, j.app_id, j.integration_id, j.record_type, j.record_id, j.deduplication_id, j.successor
            from headgate.jobs j where (j.successor ->> 'id')::uuid = $1
            for update
        ), dropped as (
            update headgate.jobs j set successor = null from found f
            where j.id = f.id and (f.successor ->> 'id')::uuid = $1
        ), finished as (
            insert into headgate.finished_jobs (
                id, app_id, integration_id, batch_id, created_at, run_at, expires_at, timeout_ms, status, priority, attempt, max_attempts,
                is_full, folded, job_type, record_type, record_id, deduplication_id, serialize_key, correlation_id, outcome, payload
            )
            select $1, f.app_id, f.integration_id, (f.successor ->> 'batch_id')::uuid, (f.successor ->> 'created_at')::timestamptz,
                (f.successor ->> 'run_at')::timestamptz, (f.successor ->> 'expires_at')::timestamptz,
                (f.successor ->> 'timeout_ms')::int, 4, (f.successor ->> 'priority')::smallint, 0,
                (f.successor ->> 'max_attempts')::smallint, (f.successor ->> 'is_full')::boolean, (f.successor ->> 'folded')::int,
                f.successor ->> 'job_type', f.record_type, f.record_id, f.deduplication_id, f.successor ->> 'serialize_key',
                f.successor ->> 'correlation_id', 'cancelled', nullif(f.successor -> 'payload', 'null')
            from found f
        ), counted as (
            insert into headgate.job_count_deltas (integration_id, status, attempt, n)
            select integration_id, 0, 0, -1 from found
        ), flowed as (
            insert into headgate.throughput_deltas (integration_id, cancelled) select integration_id, 1 from found
        ), batched as (
            insert into headgate.batch_deltas (batch_id, cancelled)
            select (successor ->> 'batch_id')::uuid, 1 from found where successor ->> 'batch_id' is not null
        )
        select $1 as "id!: JobId", f.integration_id as "integration_id!: IntegrationId", f.successor ->> 'serialize_key' as serialize_key
        from found f
        "#,
        id.0
    )
    .fetch_all(connection)
    .await?;
    Ok(ended)
}

pub(super) async fn leave_lines(connection: &mut PgConnection, ended: &[Ended]) -> Result<(), QueueError> {
    let keyed: Vec<&Ended> = ended.iter().filter(|one| one.serialize_key.is_some()).collect();
    if keyed.is_empty() {
        return Ok(());
    }
    let lanes: Vec<IntegrationId> = keyed.iter().map(|one| one.integration_id).collect();
    let keys: Vec<String> = keyed.iter().filter_map(|one| one.serialize_key.clone()).collect();
    let ids: Vec<JobId> = keyed.iter().map(|one| one.id).collect();
    keys::leave(connection, &lanes, &keys, &ids).await
}
