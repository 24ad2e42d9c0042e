//! Calling jobs off.
//!
//! A job that waits ends at once. One that is being processed is called off by a request: its row is marked, its worker is told, lets go of
//! it and records the end. Until then it keeps its lease, its deduplication id and its key, so that two attempts of one record or key never
//! overlap. Nobody can be asked when its integration goes: then it ends at once, which is safe because no attempt follows.

use crate::{
    error::QueueError,
    store::jobs::{entries::leave_queue, get::find, keys},
    wake::CANCELS,
};
use model::{
    actor::Scope,
    id::{IntegrationId, JobId, WorkerId},
    job::{Job, JobStatus},
    rules::transition::can_cancel,
};
use sqlx::PgConnection;

/// Calls a live job off. One that is being processed is still `processing` in the answer, with `cancel_requested_at`: its worker is told
/// when the transaction commits, and [`until_let_go`](super::until_let_go) waits for it. Asking again changes nothing.
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
        lock_ahead(connection, &[id]).await?;
        let CalledOff { mut ended, asked } = call_off(connection, &[id], "cancelled", Reach::Rows).await?;
        if ended.is_empty() && asked.is_empty() {
            ended = drop_successor(connection, id).await?;
        }
        if !(ended.is_empty() && asked.is_empty()) {
            leave_lines(connection, &ended).await?;
            return find(connection, scope, id).await?.ok_or(QueueError::NotFound);
        }
    }
    Err(QueueError::WrongState { status: JobStatus::Processing, wanted: "cancelled" })
}

/// Calls off every live job of an integration, up to `most` of them: before the integration is deleted. Answers how many; call it
/// again until it answers 0, each time in a transaction of its own.
///
/// Those that are being processed end at once, unlike anywhere else: the integration is switched off by then, so that nothing of it is
/// accepted or claimed that could run beside them. Their workers are told, and what they answer is not recorded.
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
        order by deduplication_id collate "C" nulls last, id limit $2
        "#,
        integration_id.0,
        most
    )
    .fetch_all(&mut *connection)
    .await?;
    // The integration is not held: who deletes it does so, and nothing is remembered of one that goes.
    lock_keys(connection, &ids).await?;
    let CalledOff { ended, .. } =
        call_off(connection, &ids, "the integration was deleted", Reach::WithSuccessors).await?;
    leave_lines(connection, &ended).await?;
    Ok(ended.len() as u64)
}

/// What became of jobs that were called off.
pub(super) struct CalledOff {
    /// They came to their end.
    pub(super) ended: Vec<Ended>,
    /// Those that are being processed: their workers were asked to let go of them.
    pub(super) asked: Vec<JobId>,
}

pub(super) struct Ended {
    pub(super) id: JobId,
    pub(super) integration_id: IntegrationId,
    pub(super) serialize_key: Option<String>,
    /// Of the change that took the row over.
    pub(super) successor_key: Option<String>,
}

/// What is called off with a job's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The row, or the request that its worker let go of it; the change that stands behind it takes it over when it has ended.
    Rows,
    /// The row and what stands behind it, at once.
    WithSuccessors,
    /// The row, unless it is being processed.
    Waiting,
    /// The same of jobs that have expired. This process counts an attempt for each, as if it had claimed them.
    Expired {
        /// Which process.
        by: WorkerId,
    },
}

/// What is locked before jobs: their integrations, which must not be deleted while we remember what may have arrived there, and keys.
pub(super) async fn lock_ahead(connection: &mut PgConnection, ids: &[JobId]) -> Result<(), QueueError> {
    sqlx::query!(
        r#"
        select 1 as "one!" from headgate.integrations
        where id in (select integration_id from headgate.jobs where id = any ($1))
        order by id for key share
        "#,
        ids as &[JobId]
    )
    .fetch_all(&mut *connection)
    .await?;
    lock_keys(connection, ids).await
}

/// Locks the keys of jobs and of the changes behind them: keys before jobs is the order of locks.
pub(super) async fn lock_keys(connection: &mut PgConnection, ids: &[JobId]) -> Result<(), QueueError> {
    let keyed = sqlx::query!(
        r#"
        select distinct j.integration_id as "integration_id!: IntegrationId", k.key as "key!"
        from (
            select integration_id, serialize_key, successor from headgate.jobs where id = any ($1)
            union all
            select integration_id, serialize_key, successor from headgate.jobs
            where successor is not null and (successor ->> 'id')::uuid = any ($1)
        ) j
        cross join lateral (values (j.serialize_key), (j.successor ->> 'serialize_key')) k (key)
        where k.key is not null
        "#,
        ids as &[JobId]
    )
    .fetch_all(&mut *connection)
    .await?;
    if keyed.is_empty() {
        return Ok(());
    }
    let (lanes, keys): (Vec<IntegrationId>, Vec<String>) =
        keyed.into_iter().map(|row| (row.integration_id, row.key)).unzip();
    keys::lock(connection, &lanes, &keys).await
}

/// The row, `waiting`, `ready`, then the end: the row's lock keeps a claim and a cancel from both winning. What a promotion or a claim did
/// before we got it is seen, because each is a statement of its own.
pub(super) async fn call_off(
    connection: &mut PgConnection,
    ids: &[JobId],
    why: &str,
    reach: Reach,
) -> Result<CalledOff, QueueError> {
    leave_queue(connection, ids).await?;
    let asked = match reach {
        Reach::Rows | Reach::WithSuccessors => ask_workers(connection, ids).await?,
        Reach::Waiting | Reach::Expired { .. } => Vec::new(),
    };
    let by = if let Reach::Expired { by } = reach { Some(by) } else { None };
    let ended = sqlx::query_file_as!(
        Ended,
        "src/store/jobs/cancel.sql",
        ids as &[JobId],
        why,
        reach == Reach::WithSuccessors,
        by as Option<WorkerId>
    )
    .fetch_all(connection)
    .await?;
    Ok(CalledOff { ended, asked })
}

/// Marks those of the jobs that are being processed and tells their workers; answers which they are. Their rows are locked already.
///
/// The notification goes out with the commit, or not at all. Whoever misses it finds the mark with its next heartbeat, and one that is
/// asked again is told again.
async fn ask_workers(connection: &mut PgConnection, ids: &[JobId]) -> Result<Vec<JobId>, QueueError> {
    let asked = sqlx::query_scalar!(
        r#"
        with held as materialized (
            select id, assignment_id from headgate.jobs where id = any ($1) and status = 1
        ), marked as (
            update headgate.jobs j set cancel_requested_at = clock_timestamp(), cancel_requested_of = j.assignment_id
            from held h where j.id = h.id and j.cancel_requested_of is distinct from j.assignment_id
        ), told as materialized (
            -- A notification holds 8,000 bytes.
            select pg_notify($2, string_agg(h.assignment_id::text, ','))
            from (select assignment_id, (row_number() over () - 1) / 200 as part from held) h
            group by h.part
        )
        select id as "id!: JobId" from held where (select count(*) from told) > 0
        "#,
        ids as &[JobId],
        CANCELS,
    )
    .fetch_all(connection)
    .await?;
    Ok(asked)
}

/// Locks jobs, in the order in which they are locked everywhere. A claim passes over what is locked, and whoever takes an entry out of
/// `ready` holds the lock of its job.
pub(super) async fn lock(connection: &mut PgConnection, ids: &[JobId]) -> Result<(), QueueError> {
    sqlx::query!(
        r#"
        select 1 as "one!" from headgate.jobs
        where id = any ($1)
        order by integration_id, deduplication_id collate "C" nulls last, id
        for update
        "#,
        ids as &[JobId]
    )
    .fetch_all(connection)
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
                is_full, folded, twins, correlation_ids, earlier_correlations, traceparent, job_type, record_type, record_id, deduplication_id, serialize_key, correlation_id, outcome, payload
            )
            select $1, f.app_id, f.integration_id, (f.successor ->> 'batch_id')::uuid, (f.successor ->> 'created_at')::timestamptz,
                (f.successor ->> 'run_at')::timestamptz, (f.successor ->> 'expires_at')::timestamptz,
                (f.successor ->> 'timeout_ms')::int, 4, (f.successor ->> 'priority')::smallint, 0,
                (f.successor ->> 'max_attempts')::smallint, (f.successor ->> 'is_full')::boolean, (f.successor ->> 'folded')::int,
                headgate.twins_of(f.successor), headgate.correlation_ids_of(f.successor),
                (f.successor ->> 'earlier_correlations')::int, f.successor ->> 'traceparent',
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
        select $1 as "id!: JobId", f.integration_id as "integration_id!: IntegrationId", f.successor ->> 'serialize_key' as serialize_key,
            null::text as successor_key
        from found f
        "#,
        id.0
    )
    .fetch_all(connection)
    .await?;
    Ok(ended)
}

/// Takes called-off jobs out of their lines. A change that took a row over may be the first of its own line by now: its line is
/// looked at too, or nobody would ever let it in.
pub(super) async fn leave_lines(connection: &mut PgConnection, ended: &[Ended]) -> Result<(), QueueError> {
    let (lanes, keys): (Vec<IntegrationId>, Vec<String>) = ended
        .iter()
        .flat_map(|one| [&one.serialize_key, &one.successor_key].map(|key| (one.integration_id, key.clone())))
        .filter_map(|(lane, key)| Some((lane, key?)))
        .unzip();
    if keys.is_empty() {
        return Ok(());
    }
    let ids: Vec<JobId> = ended.iter().filter(|one| one.serialize_key.is_some()).map(|one| one.id).collect();
    // A change that came after the keys were locked may have another one.
    keys::lock(connection, &lanes, &keys).await?;
    keys::leave(connection, &lanes, &keys, &ids).await
}
