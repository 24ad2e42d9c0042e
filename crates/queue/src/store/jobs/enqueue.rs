//! Accepting jobs: inserted, or folded into the one that waits.

use crate::{
    error::QueueError,
    store::jobs::{
        columns::{column, sparse},
        hold, keys,
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
    /// Whose.
    pub app_id: AppId,
    /// For which integration.
    pub integration_id: IntegrationId,
    /// What kind; a record's change gives its event type.
    pub job_type: String,
    /// What the job is made with.
    pub payload: Option<Value>,
    /// Type and id of the record, of a record's change.
    pub record: Option<(String, String)>,
    /// One live job per integration and id: a further one folds into it.
    pub deduplication_id: Option<String>,
    /// Jobs of one key run one at a time, in the order of acceptance.
    pub serialize_key: Option<String>,
    /// Ties together what belongs together.
    pub correlation_id: String,
    /// The trace it came with.
    pub trace: Option<TraceContext>,
    /// The batch it is an item of.
    pub batch_id: Option<BatchId>,
    /// -100 to 100, higher first.
    pub priority: i16,
    /// Not before then; none: now.
    pub run_at: Option<DateTime<Utc>>,
    /// It gathers changes: each that is folded in puts `run_at` off to its own, never beyond this.
    pub gathers_until: Option<DateTime<Utc>>,
    /// Called off when it waits then, wherever that is.
    pub expires_at: Option<DateTime<Utc>>,
    /// 1 to 100.
    pub max_attempts: i16,
    /// Time for one attempt; none: the engine's default.
    pub timeout_ms: Option<i32>,
    /// Whether everything is to be sent and not the difference.
    pub is_full: bool,
}

/// So many of the changes that were folded into a job are kept by kind and time: the last ones. The statement says so too.
const MOST_TWINS: usize = 20;
/// So many of a job's correlation ids are kept: the last ones. The statement says so too.
const MOST_CORRELATIONS: usize = 20;

/// Integration and deduplication id.
type Key<'a> = (IntegrationId, &'a str);

/// One row of the statement: a spec, with those of the same call folded into it.
struct Row<'a> {
    id: JobId,
    /// Where the first of them stands in the input.
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
    /// What kind the spec and each of them is, in order; empty when there are none.
    kinds: Vec<&'a str>,
    /// The different correlation ids of the spec and of each of them, the newest last; empty when there are none but the spec's.
    correlations: Vec<&'a str>,
    /// The last one there was.
    trace: Option<TraceContext>,
}

impl<'a> Row<'a> {
    /// What it may fold into something by.
    fn key(&self) -> Option<Key<'a>> {
        Some((self.spec.integration_id, self.spec.deduplication_id.as_deref()?))
    }

    /// A change of this correlation id is folded into it.
    fn correlate(&mut self, id: &'a str) {
        if self.correlations.is_empty() {
            if id == self.spec.correlation_id {
                return;
            }
            self.correlations.push(&self.spec.correlation_id);
        }
        self.correlations.retain(|known| *known != id);
        self.correlations.push(id);
    }

    /// How many of its correlation ids are not kept.
    fn earlier_correlations(&self) -> usize {
        self.correlations.len().saturating_sub(MOST_CORRELATIONS)
    }

    /// Whether it can be folded into nothing and stands in no line.
    fn is_plain(&self) -> bool {
        self.spec.deduplication_id.is_none() && self.spec.serialize_key.is_none()
    }
}

/// Accepts jobs; answers in the order of the input the job that will do the work of each.
///
/// One statement for all; plus, when there are any, one for jobs that became more urgent, one for those that were held, and some for
/// serialize keys. Send the wake-up ([`crate::Waker`]) after the commit.
///
/// # Errors
/// When the database is away, or lost a race (a deadlock): the caller repeats its transaction.
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
    let places = keys::take_places(connection, &keyed).await?;
    // All or none: the order of acceptance is the order of one statement.
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
    let held: Vec<JobId> = folded.iter().filter(|row| row.is_held).map(|row| row.row_id).collect();
    if !held.is_empty() {
        hold::let_go(connection, &held).await?;
    }
    if !places.is_empty() {
        let folded = by_key(&folded);
        let unused: HashSet<JobId> = rows
            .iter()
            .filter(|row| {
                row.key().and_then(|key| folded.get(&key)).is_some_and(|folded| folded.id != row.id)
            })
            .map(|row| row.id)
            .collect();
        let (unused, taken): (Vec<_>, Vec<_>) =
            places.into_iter().partition(|place| unused.contains(&place.job_id));
        keys::line_up(connection, taken).await?;
        if !unused.is_empty() {
            // Folded into a job that may have another key: a key with nobody in line is forgotten.
            let (lanes, keys): (Vec<_>, Vec<_>) =
                unused.into_iter().map(|place| (place.integration_id, place.key)).unzip();
            keys::advance(connection, &lanes, &keys).await?;
        }
    }
    Ok(answers(specs, &rows, &row_of, &folded))
}

/// A job that folds into nothing, stands in no line and takes from its lane what it does not say itself.
pub(crate) struct Alone {
    pub(crate) spec: JobSpec,
    /// None: the lane's, or else that of the spec.
    pub(crate) max_attempts: Option<i16>,
}

/// Accepts one job by one statement, which is its own transaction where the connection is in none.
///
/// # Errors
/// [`QueueError::NotFound`] when its lane was deleted or switched off; when the database is away.
pub(crate) async fn enqueue_alone(
    connection: &mut PgConnection,
    Alone { spec, max_attempts }: &Alone,
) -> Result<EnqueuedJob, QueueError> {
    let id = sqlx::query_file_scalar!(
        "src/store/jobs/enqueue_alone.sql",
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

/// Folds the duplicates of one call in memory: the statement cannot touch a row twice. Answers the rows, and for each spec the
/// id of its row.
fn fold(specs: &[JobSpec]) -> (Vec<Row<'_>>, Vec<JobId>) {
    let mut rows: Vec<Row<'_>> = Vec::with_capacity(specs.len());
    let mut row_of = Vec::with_capacity(specs.len());
    let mut known: HashMap<(IntegrationId, &str), usize> = HashMap::new();
    for (position, spec) in specs.iter().enumerate() {
        let rank = rank(&spec.job_type, spec.priority);
        let twin =
            spec.deduplication_id.as_deref().and_then(|id| known.get(&(spec.integration_id, id)).copied());
        if let Some(row) = twin.and_then(|index| rows.get_mut(index)) {
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
            // As the statement folds into a row: never (none) is the latest of all, the last one's wish counts where it has one.
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
            known.insert((spec.integration_id, id), rows.len());
        }
        row_of.push(row.id);
        rows.push(row);
    }
    (rows, row_of)
}

/// What became of a row that was folded into one that was there.
struct Folded {
    /// The job that will do the work.
    id: JobId,
    integration_id: IntegrationId,
    deduplication_id: Option<String>,
    /// The row it stands in: another job's, when it is a successor.
    row_id: JobId,
    is_more_urgent: bool,
    /// It may wait for this time.
    run_at: Option<DateTime<Utc>>,
    /// Which was not there yet.
    is_later: bool,
    /// It was held with its batch: whoever wants it now does not wait for that.
    is_held: bool,
}

async fn store(connection: &mut PgConnection, rows: &[Row<'_>]) -> Result<Vec<Folded>, QueueError> {
    let stored = sqlx::query_file_as!(
        Folded,
        "src/store/jobs/enqueue.sql",
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
            // As many as the statement keeps.
            let last = row.kinds.len().saturating_sub(MOST_TWINS);
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

/// The everyday statement for jobs that fold into nothing: it has nothing to answer.
async fn store_plain(connection: &mut PgConnection, rows: &[Row<'_>]) -> Result<(), QueueError> {
    sqlx::query_file!(
        "src/store/jobs/enqueue_plain.sql",
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

/// Moves the `ready` entries of jobs that became more urgent. A statement of its own, because it must see what was committed while
/// the fold waited for the job's row. It never waits for an entry: a claim that holds one waits for no job either. (A promotion
/// locks the job, so that none puts an entry of the old rank in behind our back.)
pub(super) async fn move_up(connection: &mut PgConnection, jobs: &[JobId]) -> Result<(), QueueError> {
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

/// Moves the `waiting` entries of pending jobs to their earlier `run_at`, or to `ready` when that has come.
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

/// The rows whose time is the one this call asked for: their entries in `waiting`, if they stand there, have to follow.
fn brought_forward(rows: &[Row<'_>], folded: &[Folded]) -> Vec<JobId> {
    // The everyday fold asks for no time, and what it folds into waits for none.
    if rows.iter().all(|row| row.run_at.is_none()) && folded.iter().all(|row| !row.is_later) {
        return Vec::new();
    }
    let folded = by_key(folded);
    let is_asked_for = |row: &Row<'_>| {
        let folded = folded.get(&row.key()?)?;
        let at = folded.run_at?;
        // Now (none) is what the statement says it is.
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
