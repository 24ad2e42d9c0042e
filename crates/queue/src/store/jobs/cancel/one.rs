//! Cancelling jobs.
//!
//! A waiting job ends at once. For one that is being processed there is a cancel request: its row is marked and its worker notified, which stops
//! the attempt and records the end. Until then the job keeps its lease, its deduplication id and its key, so that two attempts of one record or
//! key never overlap. Jobs of an integration that is being deleted end at once, also those being processed: that is safe, because no attempt
//! follows.

use crate::error::{QueueError, Result};
use crate::store::jobs::read::get::find;
use crate::store::jobs::rows::entries::leave_queue;
use crate::store::jobs::rows::keys;
use crate::wake::CANCEL_CHANNEL;
use model::actor::Scope;
use model::id::{IntegrationId, JobId, WorkerId};
use model::job::{Job, JobStatus};
use model::rules::transition::can_cancel;
use sqlx::PgConnection;

/// Cancels a live job. One that is being processed is still `processing` in the answer, with `cancel_requested_at`: its worker is notified
/// when the transaction commits, and [`wait_for_cancel`](super::wait_for_cancel()) waits for it. A second request changes nothing.
///
/// Run it in a transaction: it is several statements.
///
/// # Errors
/// [`QueueError::NotFound`], or [`QueueError::WrongState`] when the job has come to its end.
pub async fn cancel(connection: &mut PgConnection, scope: Scope, id: JobId) -> Result<Job> {
    // Another round when the job moved between the read and the lock (a successor that became the row).
    for _ in 0..3 {
        let job = find(connection, scope, id).await?.ok_or(QueueError::NotFound)?;
        if !can_cancel(job.status) {
            return Err(QueueError::WrongState { status: job.status, wanted: "cancelled" });
        }
        lock_integrations_and_keys(connection, &[id]).await?;
        let Cancelled { mut ended, requested } =
            cancel_rows(connection, &[id], "cancelled", Reach::Rows).await?;
        if ended.is_empty() && requested.is_empty() {
            ended = drop_successor(connection, id).await?;
        }
        if !(ended.is_empty() && requested.is_empty()) {
            leave_keys(connection, &ended).await?;
            return find(connection, scope, id).await?.ok_or(QueueError::NotFound);
        }
    }
    Err(QueueError::WrongState { status: JobStatus::Processing, wanted: "cancelled" })
}

/// Cancels up to `limit` live jobs of an integration that is about to be deleted, and returns how many. Call it again until it returns 0, each
/// time in a transaction of its own.
///
/// Those that are being processed end at once, unlike anywhere else: the integration is disabled by then, so nothing of it is accepted or
/// claimed that could run at the same time. Their workers are notified, and their results are not recorded.
///
/// # Errors
/// When it lost a race: repeat.
pub async fn cancel_integration_jobs(
    connection: &mut PgConnection,
    integration_id: IntegrationId,
    limit: i64,
) -> Result<u64> {
    let ids = sqlx::query_scalar!(
        r#"
        select id as "id: JobId" from headgate.jobs where integration_id = $1
        order by deduplication_id collate "C" nulls last, id limit $2
        "#,
        integration_id.0,
        limit
    )
    .fetch_all(&mut *connection)
    .await?;
    // The integration's row needs no lock: whoever deletes it has it, and nothing is remembered of an integration that goes.
    lock_keys(connection, &ids).await?;
    let Cancelled { ended, .. } =
        cancel_rows(connection, &ids, "the integration was deleted", Reach::WithSuccessors).await?;
    leave_keys(connection, &ended).await?;
    Ok(ended.len() as u64)
}

pub(crate) struct Cancelled {
    pub(crate) ended: Vec<Ended>,
    /// Jobs being processed, whose workers were requested to stop.
    pub(crate) requested: Vec<JobId>,
}

pub(crate) struct Ended {
    pub(crate) id: JobId,
    pub(crate) integration_id: IntegrationId,
    pub(crate) serialize_key: Option<String>,
    /// The serialize key of the successor that took the row over.
    pub(crate) successor_key: Option<String>,
}

/// What a cancel of a job's id covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The row, or a cancel request when it is being processed; a successor takes the row over when the job has ended.
    Rows,
    /// The row and its successor, at once.
    WithSuccessors,
    /// The row, unless it is being processed.
    Waiting,
    /// The same for jobs that have expired. The worker named here counts an attempt for each, as if it had claimed them.
    Expired { by: WorkerId },
}

/// Takes the locks that come before those of jobs: their keys, and their integrations, which must not be deleted while this transaction writes
/// down what may have arrived there.
pub(crate) async fn lock_integrations_and_keys(connection: &mut PgConnection, ids: &[JobId]) -> Result<()> {
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

/// Locks the keys of jobs and of their successors: keys are locked before jobs, everywhere.
pub(crate) async fn lock_keys(connection: &mut PgConnection, ids: &[JobId]) -> Result<()> {
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

/// Locks the rows, removes the entries of `waiting` and `ready`, then ends the jobs. The row's lock keeps a claim and a cancel from both winning.
/// Each step is a statement of its own, so that it sees what a promotion or a claim committed before we got the lock.
pub(crate) async fn cancel_rows(
    connection: &mut PgConnection,
    ids: &[JobId],
    why: &str,
    reach: Reach,
) -> Result<Cancelled> {
    leave_queue(connection, ids).await?;
    let requested = match reach {
        Reach::Rows | Reach::WithSuccessors => request_stop(connection, ids).await?,
        Reach::Waiting | Reach::Expired { .. } => Vec::new(),
    };
    let by = if let Reach::Expired { by } = reach { Some(by) } else { None };
    let ended = sqlx::query_file_as!(
        Ended,
        "src/store/jobs/cancel/cancel.sql",
        ids as &[JobId],
        why,
        reach == Reach::WithSuccessors,
        by as Option<WorkerId>
    )
    .fetch_all(connection)
    .await?;
    Ok(Cancelled { ended, requested })
}

/// Marks those of the jobs that are being processed, notifies their workers, and returns their ids. Their rows are locked already.
///
/// The notification is sent with the commit, or not at all. A worker that misses it finds the mark with its next heartbeat; a repeated request
/// notifies again.
async fn request_stop(connection: &mut PgConnection, ids: &[JobId]) -> Result<Vec<JobId>> {
    let requested = sqlx::query_scalar!(
        r#"
        with running as materialized (
            select id, assignment_id from headgate.jobs where id = any ($1) and status = 1
        ), marked as (
            update headgate.jobs j set cancel_requested_at = clock_timestamp(), cancel_requested_of = j.assignment_id
            from running r where j.id = r.id and j.cancel_requested_of is distinct from j.assignment_id
        ), notified as materialized (
            -- In parts, because the payload of a notification is limited to 8,000 bytes.
            select pg_notify($2, string_agg(r.assignment_id::text, ','))
            from (select assignment_id, (row_number() over () - 1) / 200 as part from running) r
            group by r.part
        )
        select id as "id!: JobId" from running where (select count(*) from notified) > 0
        "#,
        ids as &[JobId],
        CANCEL_CHANNEL,
    )
    .fetch_all(connection)
    .await?;
    Ok(requested)
}

/// Cancels a job that is the successor of one that is being processed.
pub(crate) async fn drop_successor(connection: &mut PgConnection, id: JobId) -> Result<Vec<Ended>> {
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

/// Takes ended jobs out of the queues of their serialize keys. A successor that took a row over may be the head of its own key by now: that key is
/// advanced too, or the successor would never become claimable.
pub(crate) async fn leave_keys(connection: &mut PgConnection, ended: &[Ended]) -> Result<()> {
    let (lanes, keys): (Vec<IntegrationId>, Vec<String>) = ended
        .iter()
        .flat_map(|one| [&one.serialize_key, &one.successor_key].map(|key| (one.integration_id, key.clone())))
        .filter_map(|(lane, key)| Some((lane, key?)))
        .unzip();
    if keys.is_empty() {
        return Ok(());
    }
    let ids: Vec<JobId> = ended.iter().filter(|one| one.serialize_key.is_some()).map(|one| one.id).collect();
    // A successor that came after the keys were locked may have another one.
    keys::lock(connection, &lanes, &keys).await?;
    keys::leave(connection, &lanes, &keys, &ids).await
}
