//! Accepting jobs: they are inserted, or folded into the one that waits.

use crate::{
    error::QueueError,
    store::jobs::{
        accept::{
            columns::{column, sparse},
            keys,
        },
        cancel::park,
    },
};
use chrono::{DateTime, Utc};
use model::{
    id::{AppId, BatchId, IntegrationId, JobId},
    job::{EnqueueOutcome, EnqueuedJob, rank},
    trace::TraceContext,
};
use serde_json::Value;
use sqlx::PgConnection;
use std::collections::{HashMap, HashSet};

/// A job to be accepted. Integration, app and batch have been looked up and belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSpec {
    /// The app it belongs to.
    pub app_id: AppId,
    /// Its lane.
    pub integration_id: IntegrationId,
    /// Its type; for a record's change the type of the event.
    pub job_type: String,
    /// The payload.
    pub payload: Option<Value>,
    /// Type and id of the record, for a record's change.
    pub record: Option<(String, String)>,
    /// One live job per integration and id: a further one folds into it.
    pub deduplication_id: Option<String>,
    /// Jobs of one key run one at a time, in the order of acceptance.
    pub serialize_key: Option<String>,
    /// Correlation id.
    pub correlation_id: String,
    /// The trace of the call.
    pub trace: Option<TraceContext>,
    /// The batch it is an item of.
    pub batch_id: Option<BatchId>,
    /// -100 to 100, higher first.
    pub priority: i16,
    /// It runs at this time or later; none: now.
    pub run_at: Option<DateTime<Utc>>,
    /// Debouncing: each change that is folded in moves `run_at` to its own, never beyond this time.
    pub gathers_until: Option<DateTime<Utc>>,
    /// It is cancelled if it still waits at this time, whatever it waits for.
    pub expires_at: Option<DateTime<Utc>>,
    /// 1 to 100.
    pub max_attempts: i16,
    /// Timeout of one attempt; none: the engine's default.
    pub timeout_ms: Option<i32>,
    /// Whether everything is to be sent, not the difference.
    pub is_full: bool,
}

/// A job keeps type and time of the last so many changes folded into it. The statement has the same number.
const MAX_FOLDED_KEPT: usize = 20;
/// A job keeps the last so many of its correlation ids. The statement has the same number.
const MAX_CORRELATIONS_KEPT: usize = 20;

/// Integration and deduplication id.
type Key<'a> = (IntegrationId, &'a str);

/// One row of the statement: a spec, with those of the same call folded into it.
struct Row<'a> {
    id: JobId,
    /// The index of the first of them in the input.
    position: usize,
    spec: &'a JobSpec,
    /// The most urgent of them.
    urgent: &'a JobSpec,
    rank: i16,
    payload: &'a Option<Value>,
    run_at: Option<DateTime<Utc>>,
    gathers_until: Option<DateTime<Utc>>,
    expires_at: Option<DateTime<Utc>>,
    max_attempts: i16,
    timeout_ms: Option<i32>,
    batch_id: Option<BatchId>,
    is_full: bool,
    folded: i32,
    /// The job types of the spec and of those folded into it, in order; empty when nothing was folded.
    kinds: Vec<&'a str>,
    /// The distinct correlation ids of the spec and of those folded into it, the newest last; empty when there is only the spec's.
    correlations: Vec<&'a str>,
    trace: Option<TraceContext>,
}

impl<'a> Row<'a> {
    fn key(&self) -> Option<Key<'a>> {
        Some((self.spec.integration_id, self.spec.deduplication_id.as_deref()?))
    }

    /// Notes the correlation id of a change that is folded in.
    fn correlate(&mut self, id: &'a str) {
        if self.correlations.is_empty() {
            if id == self.spec.correlation_id {
                return;
            }
            self.correlations.push(&self.spec.correlation_id);
        }
        self.correlations.retain(|seen| *seen != id);
        self.correlations.push(id);
    }

    fn earlier_correlations(&self) -> usize {
        self.correlations.len().saturating_sub(MAX_CORRELATIONS_KEPT)
    }

    fn is_plain(&self) -> bool {
        self.spec.deduplication_id.is_none() && self.spec.serialize_key.is_none()
    }
}

/// Accepts jobs; returns, in the order of the input, the job that will do the work of each.
///
/// It takes one statement for all jobs, and, only when there are any, one for jobs that became more urgent, one for those that were parked, and
/// some for serialize keys. Send the wake-up ([`crate::Waker`]) after the commit.
///
/// # Errors
/// When it lost a race (a deadlock): the caller repeats its transaction.
pub async fn enqueue(
    connection: &mut PgConnection,
    specs: &[JobSpec],
) -> Result<Vec<EnqueuedJob>, QueueError> {
    if specs.is_empty() {
        return Ok(Vec::new());
    }
    let (mut rows, row_of) = fold(specs);
    // (integration, deduplication id) is the order of locks; jobs without an id lock nothing and keep their order.
    rows.sort_by(|a, b| {
        let key = |row: &Row<'_>| {
            (row.spec.integration_id, row.spec.deduplication_id.is_none(), row.spec.deduplication_id.clone())
        };
        key(a).cmp(&key(b)).then(a.position.cmp(&b.position))
    });
    let keyed: Vec<keys::Keyed<'_>> = {
        let mut keyed: Vec<_> = rows
            .iter()
            .filter_map(|row| {
                let key = row.spec.serialize_key.as_deref()?;
                Some((
                    row.position,
                    keys::Keyed { integration_id: row.spec.integration_id, key, job_id: row.id },
                ))
            })
            .collect();
        keyed.sort_by_key(|(position, _)| *position);
        keyed.into_iter().map(|(_, keyed)| keyed).collect()
    };
    // The key rows are locked before any job's row.
    let positions = keys::reserve_positions(connection, &keyed).await?;
    // Only if all rows are plain: two statements would not keep the order of acceptance.
    if rows.iter().all(Row::is_plain) {
        store_plain(connection, &rows).await?;
        return Ok(answers(specs, &rows, &row_of, &[]));
    }
    let folded = store(connection, &rows).await?;

    let more_urgent: Vec<JobId> =
        folded.iter().filter(|row| row.is_more_urgent).map(|row| row.row_id).collect();
    if !more_urgent.is_empty() {
        move_up(connection, &more_urgent).await?;
    }
    let sooner = brought_forward(&rows, &folded);
    if !sooner.is_empty() {
        bring_forward(connection, &sooner).await?;
    }
    let parked: Vec<JobId> = folded.iter().filter(|row| row.is_parked).map(|row| row.row_id).collect();
    if !parked.is_empty() {
        park::resume(connection, &parked).await?;
    }
    if !positions.is_empty() {
        let folded = by_key(&folded);
        let unused: HashSet<JobId> = rows
            .iter()
            .filter(|row| {
                row.key().and_then(|key| folded.get(&key)).is_some_and(|folded| folded.id != row.id)
            })
            .map(|row| row.id)
            .collect();
        let (unused, taken): (Vec<_>, Vec<_>) =
            positions.into_iter().partition(|one| unused.contains(&one.job_id));
        keys::join_queue(connection, taken).await?;
        if !unused.is_empty() {
            // Folded into a job that may have another key: a key without jobs is deleted.
            let (lanes, keys): (Vec<_>, Vec<_>) =
                unused.into_iter().map(|one| (one.integration_id, one.key)).unzip();
            keys::advance(connection, &lanes, &keys).await?;
        }
    }
    Ok(answers(specs, &rows, &row_of, &folded))
}

/// A job with neither deduplication id nor serialize key, for which the lane's defaults are looked up by the statement.
pub(crate) struct SingleJob {
    pub(crate) spec: JobSpec,
    /// None: the lane's, or else that of the spec.
    pub(crate) max_attempts: Option<i16>,
}

/// Accepts one job by one statement, which is its own transaction unless the connection is in one.
///
/// # Errors
/// [`QueueError::NotFound`] when its lane was deleted or disabled.
pub(crate) async fn enqueue_single(
    connection: &mut PgConnection,
    SingleJob { spec, max_attempts }: &SingleJob,
) -> Result<EnqueuedJob, QueueError> {
    let id = sqlx::query_file_scalar!(
        "src/store/jobs/accept/enqueue_single.sql",
        JobId::generate().0,
        spec.integration_id.0,
        spec.run_at,
        spec.expires_at,
        spec.timeout_ms,
        rank(&spec.job_type, spec.priority),
        spec.priority,
        *max_attempts,
        spec.max_attempts,
        spec.job_type,
        spec.correlation_id,
        spec.payload.as_ref(),
    )
    .fetch_optional(connection)
    .await?
    .ok_or(QueueError::NotFound)?;
    Ok(EnqueuedJob { id, outcome: EnqueueOutcome::Created })
}

/// Folds the duplicates within one call in memory, because `on conflict do update` cannot touch a row twice. Returns the rows, and for each spec
/// the id of its row.
fn fold(specs: &[JobSpec]) -> (Vec<Row<'_>>, Vec<JobId>) {
    let mut rows: Vec<Row<'_>> = Vec::with_capacity(specs.len());
    let mut row_of = Vec::with_capacity(specs.len());
    let mut seen: HashMap<(IntegrationId, &str), usize> = HashMap::new();
    for (position, spec) in specs.iter().enumerate() {
        let rank = rank(&spec.job_type, spec.priority);
        let duplicate =
            spec.deduplication_id.as_deref().and_then(|id| seen.get(&(spec.integration_id, id)).copied());
        if let Some(row) = duplicate.and_then(|index| rows.get_mut(index)) {
            if rank < row.rank {
                row.rank = rank;
                row.urgent = spec;
            }
            row.payload = &spec.payload;
            row.is_full |= spec.is_full;
            row.folded += 1;
            if row.kinds.is_empty() {
                row.kinds.push(&row.spec.job_type);
            }
            row.kinds.push(&spec.job_type);
            row.correlate(&spec.correlation_id);
            row.trace = spec.trace.or(row.trace);
            // Now (none) is sooner than any time.
            row.run_at = row.run_at.zip(spec.run_at).map(|(a, b)| a.min(b));
            row.gathers_until = row.gathers_until.zip(spec.gathers_until).map(|(a, _)| a);
            // By the rules of the statement: never (none) is the latest time of all, and of other settings the last one given counts.
            row.expires_at = row.expires_at.zip(spec.expires_at).map(|(a, b)| a.max(b));
            row.max_attempts = row.max_attempts.max(spec.max_attempts);
            row.timeout_ms = spec.timeout_ms.or(row.timeout_ms);
            row.batch_id = spec.batch_id.or(row.batch_id);
            row_of.push(row.id);
            continue;
        }
        let row = Row {
            id: JobId::generate(),
            position,
            spec,
            urgent: spec,
            rank,
            payload: &spec.payload,
            run_at: spec.run_at,
            gathers_until: spec.gathers_until,
            expires_at: spec.expires_at,
            max_attempts: spec.max_attempts,
            timeout_ms: spec.timeout_ms,
            batch_id: spec.batch_id,
            is_full: spec.is_full,
            folded: 0,
            kinds: Vec::new(),
            correlations: Vec::new(),
            trace: spec.trace,
        };
        if let Some(id) = spec.deduplication_id.as_deref() {
            seen.insert((spec.integration_id, id), rows.len());
        }
        row_of.push(row.id);
        rows.push(row);
    }
    (rows, row_of)
}

/// A row that was folded into an existing job.
struct Folded {
    /// The job that will do the work.
    id: JobId,
    integration_id: IntegrationId,
    deduplication_id: Option<String>,
    /// The row that has it: another job's, when it is a successor.
    row_id: JobId,
    is_more_urgent: bool,
    /// The time it waits for, of a pending job.
    run_at: Option<DateTime<Utc>>,
    /// Whether that time is still to come.
    is_later: bool,
    /// Whether it was parked with its batch: with a new change it no longer is.
    is_parked: bool,
}

async fn store(connection: &mut PgConnection, rows: &[Row<'_>]) -> Result<Vec<Folded>, QueueError> {
    let stored = sqlx::query_file_as!(
        Folded,
        "src/store/jobs/accept/enqueue.sql",
        &column(rows, |row| row.id.0),
        &column(rows, |row| row.spec.app_id.0),
        &column(rows, |row| row.spec.integration_id.0),
        &sparse(rows, |row| row.batch_id.map(|id| id.0)) as &[Option<uuid::Uuid>],
        &sparse(rows, |row| row.run_at) as &[Option<DateTime<Utc>>],
        &sparse(rows, |row| row.expires_at) as &[Option<DateTime<Utc>>],
        &sparse(rows, |row| row.timeout_ms) as &[Option<i32>],
        &column(rows, |row| row.rank),
        &column(rows, |row| row.urgent.priority),
        &column(rows, |row| row.max_attempts),
        &column(rows, |row| row.is_full),
        &column(rows, |row| row.folded),
        &column(rows, |row| row.urgent.job_type.as_str()) as &[&str],
        &sparse(rows, |row| row.spec.record.as_ref().map(|record| record.0.as_str())) as &[Option<&str>],
        &sparse(rows, |row| row.spec.record.as_ref().map(|record| record.1.as_str())) as &[Option<&str>],
        &sparse(rows, |row| row.spec.deduplication_id.as_deref()) as &[Option<&str>],
        &sparse(rows, |row| row.spec.serialize_key.as_deref()) as &[Option<&str>],
        &column(rows, |row| row.spec.correlation_id.as_str()) as &[&str],
        &sparse(rows, |row| row.payload.as_ref()) as &[Option<&Value>],
        &column(rows, |row| i32::try_from(row.position).unwrap_or(i32::MAX)),
        &sparse(rows, |row| (row.folded > 0).then(|| {
            // The statement keeps no more than these.
            let last = row.kinds.len().saturating_sub(MAX_FOLDED_KEPT);
            Value::from(row.kinds[last..].to_vec())
        })) as &[Option<Value>],
        &sparse(rows, |row| {
            let kept = &row.correlations[row.earlier_correlations()..];
            (!kept.is_empty()).then(|| Value::from(kept.to_vec()))
        }) as &[Option<Value>],
        &sparse(rows, |row| i32::try_from(row.earlier_correlations()).ok().filter(|n| *n > 0))
            as &[Option<i32>],
        &sparse(rows, |row| row.trace.map(|trace| trace.to_string())) as &[Option<String>],
        &sparse(rows, |row| row.gathers_until) as &[Option<DateTime<Utc>>],
    )
    .fetch_all(connection)
    .await?;
    Ok(stored)
}

/// The statement for the usual case, jobs that cannot be folded. It returns nothing.
async fn store_plain(connection: &mut PgConnection, rows: &[Row<'_>]) -> Result<(), QueueError> {
    sqlx::query_file!(
        "src/store/jobs/accept/enqueue_plain.sql",
        &column(rows, |row| row.id.0),
        &column(rows, |row| row.spec.app_id.0),
        &column(rows, |row| row.spec.integration_id.0),
        &sparse(rows, |row| row.batch_id.map(|id| id.0)) as &[Option<uuid::Uuid>],
        &sparse(rows, |row| row.run_at) as &[Option<DateTime<Utc>>],
        &sparse(rows, |row| row.expires_at) as &[Option<DateTime<Utc>>],
        &sparse(rows, |row| row.timeout_ms) as &[Option<i32>],
        &column(rows, |row| row.rank),
        &column(rows, |row| row.spec.priority),
        &column(rows, |row| row.max_attempts),
        &column(rows, |row| row.is_full),
        &column(rows, |row| row.spec.job_type.as_str()) as &[&str],
        &sparse(rows, |row| row.spec.record.as_ref().map(|record| record.0.as_str())) as &[Option<&str>],
        &sparse(rows, |row| row.spec.record.as_ref().map(|record| record.1.as_str())) as &[Option<&str>],
        &column(rows, |row| row.spec.correlation_id.as_str()) as &[&str],
        &sparse(rows, |row| row.payload.as_ref()) as &[Option<&Value>],
        &column(rows, |row| i32::try_from(row.position).unwrap_or(i32::MAX)),
        &sparse(rows, |row| row.trace.map(|trace| trace.to_string())) as &[Option<String>],
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Moves the `ready` entries of jobs that became more urgent. It is a statement of its own, because it must see what was committed while the fold
/// waited for the job's row. It never waits for an entry, as a claim that has one locked never waits for a job. (A promotion locks the job, so
/// none can insert an entry with the old rank meanwhile.)
pub(in crate::store::jobs) async fn move_up(
    connection: &mut PgConnection,
    jobs: &[JobId],
) -> Result<(), QueueError> {
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
async fn bring_forward(connection: &mut PgConnection, jobs: &[JobId]) -> Result<(), QueueError> {
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

fn by_key(folded: &[Folded]) -> HashMap<Key<'_>, &Folded> {
    let keyed = folded.iter().filter_map(|row| {
        let key = (row.integration_id, row.deduplication_id.as_deref()?);
        Some((key, row))
    });
    keyed.collect()
}

/// The jobs whose `run_at` is the one this call asked for: their entries in `waiting`, if they have one, must follow.
fn brought_forward(rows: &[Row<'_>], folded: &[Folded]) -> Vec<JobId> {
    // In the usual case the call asks for no time, and the job it folds into waits for none.
    if rows.iter().all(|row| row.run_at.is_none()) && folded.iter().all(|row| !row.is_later) {
        return Vec::new();
    }
    let folded = by_key(folded);
    let is_asked_for = |row: &Row<'_>| {
        let folded = folded.get(&row.key()?)?;
        let at = folded.run_at?;
        // "Now" (none) is the time of the statement.
        let is_ours =
            row.run_at.map_or(folded.is_later, |asked| asked.timestamp_micros() == at.timestamp_micros());
        is_ours.then_some(folded.row_id)
    };
    rows.iter().filter_map(is_asked_for).collect()
}

fn answers(specs: &[JobSpec], rows: &[Row<'_>], row_of: &[JobId], folded: &[Folded]) -> Vec<EnqueuedJob> {
    let folded = by_key(folded);
    let first_of: HashMap<JobId, usize> = rows.iter().map(|row| (row.id, row.position)).collect();
    specs
        .iter()
        .zip(row_of)
        .enumerate()
        .map(|(position, (spec, own))| {
            let id = spec
                .deduplication_id
                .as_deref()
                .and_then(|id| folded.get(&(spec.integration_id, id)))
                .map_or(*own, |folded| folded.id);
            let is_new = id == *own && first_of.get(own) == Some(&position);
            let outcome = if is_new { EnqueueOutcome::Created } else { EnqueueOutcome::Coalesced };
            EnqueuedJob { id, outcome }
        })
        .collect()
}
