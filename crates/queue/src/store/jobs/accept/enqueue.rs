//! Accepting jobs: they are inserted, or folded into the one that waits.

use crate::error::{QueueError, Result};
use crate::store::jobs::accept::fold::{Key, MAX_FOLDED_KEPT, Row, fold};
use crate::store::jobs::accept::spec::JobSpec;
use crate::store::jobs::cancel::park;
use crate::store::jobs::rows::columns::{column, sparse};
use crate::store::jobs::rows::entries::{bring_forward, move_up};
use crate::store::jobs::rows::keys;
use chrono::{DateTime, Utc};
use model::id::{IntegrationId, JobId};
use model::job::{EnqueueOutcome, EnqueuedJob, rank};
use serde_json::Value;
use sqlx::PgConnection;
use std::collections::{HashMap, HashSet};

/// Accepts jobs; returns, in the order of the input, the job that will do the work of each.
///
/// It takes one statement for all jobs, and, only when there are any, one for jobs that became more urgent, one for those that were parked, and
/// some for serialize keys. Send the wake-up ([`crate::Waker`]) after the commit.
///
/// # Errors
/// When it lost a race (a deadlock): the caller repeats its transaction.
pub async fn enqueue(connection: &mut PgConnection, specs: &[JobSpec]) -> Result<Vec<EnqueuedJob>> {
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

/// Accepts one job with neither deduplication id nor serialize key by one statement, which looks the lane's defaults up and is its own transaction
/// unless the connection is in one. Without `max_attempts` the lane's number counts, or else that of the spec.
///
/// # Errors
/// [`QueueError::NotFound`] when its lane was deleted or disabled.
pub(crate) async fn enqueue_single(
    connection: &mut PgConnection,
    spec: &JobSpec,
    max_attempts: Option<i16>,
) -> Result<EnqueuedJob> {
    let id = sqlx::query_file_scalar!(
        "src/store/jobs/accept/enqueue_single.sql",
        JobId::generate().0,
        spec.integration_id.0,
        spec.run_at,
        spec.expires_at,
        spec.timeout_ms,
        rank(&spec.job_type, spec.priority),
        spec.priority,
        max_attempts,
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

async fn store(connection: &mut PgConnection, rows: &[Row<'_>]) -> Result<Vec<Folded>> {
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
async fn store_plain(connection: &mut PgConnection, rows: &[Row<'_>]) -> Result<()> {
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
