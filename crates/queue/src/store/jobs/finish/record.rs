//! Recording the end of an attempt: the result is written together with the counters, fenced by the lease.

use crate::error::Result;
use crate::store::connections::lookup_settings;
use crate::store::jobs::finish::end::{Applied, AttemptEnd};
use crate::store::jobs::finish::params::EndParams;
use crate::store::jobs::rows::columns::{column, sparse};
use crate::store::jobs::rows::keys;
use chrono::{DateTime, Utc};
use model::id::{IntegrationId, JobId};
use model::text::{EXCERPT_CHARS, sanitise};
use serde_json::Value;
use sqlx::PgConnection;
use std::collections::BTreeSet;

/// Begins a transaction whose statements only probe tables by key: accepting, finishing, steering. Without these settings a plan made while `jobs`
/// was almost empty reads the whole table for every batch once it has grown, until the next `analyze`. Plans are cached, because making one took
/// longer than running it.
///
/// No statement in such a transaction may join two sets without an index (arguments, results of its own steps): that is only possible as a nested
/// loop, which for 5,000 rows is 25 million pairs. `tests/it/jobs/scaling.rs` checks this for the hot statements.
pub const BEGIN: &str = concat!("begin isolation level read committed; ", lookup_settings!("set local"));

/// The result of [`finish`].
#[derive(Debug)]
pub struct Finished {
    /// For each, in the order of the input, whether it was recorded.
    pub applied: Vec<Applied>,
    /// Whether a job became claimable, or will: one of the ended ones itself, or one that waited for it.
    pub is_work_made: bool,
}

/// Ends a batch of attempts.
///
/// # Errors
/// When the batch lost a race (a deadlock, a unique row, a lock that was not granted within the transaction's `lock_timeout`): repeat it in
/// parts.
pub async fn finish(connection: &mut PgConnection, ends: &[AttemptEnd]) -> Result<Finished> {
    if ends.is_empty() {
        return Ok(Finished { applied: Vec::new(), is_work_made: false });
    }
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by(|a, b| ends[*a].lock_order().cmp(&ends[*b].lock_order()));
    let sorted: Vec<&AttemptEnd> = order.iter().map(|index| &ends[*index]).collect();

    // Also the keys of jobs that go on: one that was cancelled meanwhile ends here, and keys are locked before jobs.
    let keys: BTreeSet<(IntegrationId, String)> =
        sorted.iter().filter_map(|end| Some((end.integration_id, end.serialize_key.clone()?))).collect();
    let (lanes, keys): (Vec<IntegrationId>, Vec<String>) = keys.into_iter().unzip();
    if !keys.is_empty() {
        keys::lock(connection, &lanes, &keys).await?;
    }
    let rows = if sorted.iter().all(|end| end.is_plain()) {
        write_plain(connection, &sorted).await?
    } else {
        write(connection, &sorted).await?
    };

    let mut applied = vec![Applied::AlreadyDone; ends.len()];
    let mut ended = Vec::new();
    let mut left = (Vec::new(), Vec::new());
    let mut successors = (Vec::new(), Vec::new());
    let mut is_work_made = sorted.iter().any(|end| end.continues());
    for row in rows {
        is_work_made |= row.successor_id.is_some();
        let Some(at) = usize::try_from(row.n - 1).ok().filter(|at| *at < sorted.len()) else { continue };
        applied[order[at]] = match (row.is_applied, row.is_cancelled) {
            (true, false) => Applied::Yes,
            (true, true) => Applied::Cancelled,
            (false, _) => Applied::LeaseLost,
        };
        if row.is_applied && (row.is_cancelled || sorted[at].is_final()) {
            if let Some(key) = &sorted[at].serialize_key {
                ended.push(sorted[at].job_id);
                left.0.push(sorted[at].integration_id);
                left.1.push(key.clone());
            }
            if let (Some(key), Some(_)) = (row.successor_key, row.successor_id) {
                successors.0.push(sorted[at].integration_id);
                successors.1.push(key);
            }
        }
    }
    if !ended.is_empty() {
        is_work_made = true;
        keys::leave(connection, &left.0, &left.1, &ended).await?;
    }
    if !successors.1.is_empty() {
        // A successor may have another key than the ended job: a transaction that is advancing it now must have committed before we do.
        keys::lock(connection, &successors.0, &successors.1).await?;
        keys::advance(connection, &successors.0, &successors.1).await?;
    }
    Ok(Finished { applied, is_work_made })
}

struct Row {
    n: i64,
    is_applied: bool,
    is_cancelled: bool,
    successor_id: Option<JobId>,
    successor_key: Option<String>,
}

async fn write(connection: &mut PgConnection, ends: &[&AttemptEnd]) -> Result<Vec<Row>> {
    let params: Vec<EndParams> = ends.iter().map(|end| EndParams::of(end)).collect();
    let rows = sqlx::query_file_as!(
        Row,
        "src/store/jobs/finish/finish.sql",
        &column(ends, |end| end.job_id.0),
        &column(ends, |end| end.assignment_id.0),
        &column(&params, |param| param.action),
        &column(&params, |param| param.outcome) as &[Option<&str>],
        &column(&params, |param| param.attempt_outcome) as &[Option<&str>],
        &column(&params, |param| param.wait_us) as &[Option<i64>],
        &column(&params, |param| param.wait_reason) as &[Option<&str>],
        &column(&params, |param| param.until) as &[Option<DateTime<Utc>>],
        &column(&params, |param| param
            .response
            .map(|response| i16::try_from(response.status).unwrap_or(i16::MAX))) as &[Option<i16>],
        &column(&params, |param| param.response.map(|response| sanitise(&response.excerpt, EXCERPT_CHARS)))
            as &[Option<String>],
        &column(&params, |param| param.duration_ms) as &[Option<i32>],
        &column(&params, |param| param.result.cloned()) as &[Option<Value>],
        &column(&params, |param| param.kind) as &[Option<&str>],
        &column(&params, |param| param.attempt_kind) as &[Option<&str>],
        &column(&params, |param| param.message.clone()) as &[Option<String>],
        &column(&params, |param| param.fingerprint.clone()) as &[Option<String>],
        &column(&params, |param| param.dead_letter_id.map(|id| id.0)) as &[Option<uuid::Uuid>],
        &column(&params, |param| param.sent_body.cloned()) as &[Option<Value>],
        &column(ends, |end| end.is_uncertain),
        // Failed attempts only: the statement for the usual case has no column for it.
        &column(&params, |param| param
            .exchange
            .and_then(|exchange| serde_json::to_value(exchange).ok())
            .filter(|exchange| model::json::check(exchange).is_ok())) as &[Option<Value>],
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Runs the statement for the usual case; jobs that have a successor by then are ended by the general one. Their rows are locked already.
async fn write_plain(connection: &mut PgConnection, ends: &[&AttemptEnd]) -> Result<Vec<Row>> {
    let params: Vec<EndParams> = ends.iter().map(|end| EndParams::of(end)).collect();
    let written = sqlx::query_file!(
        "src/store/jobs/finish/finish_plain.sql",
        &column(ends, |end| end.job_id.0),
        &column(ends, |end| end.assignment_id.0),
        &column(&params, |param| param.action),
        &sparse(&params, |param| param.outcome) as &[Option<&str>],
        &sparse(&params, |param| param
            .response
            .map(|response| i16::try_from(response.status).unwrap_or(i16::MAX))) as &[Option<i16>],
        &sparse(&params, |param| param.response.map(|response| sanitise(&response.excerpt, EXCERPT_CHARS)))
            as &[Option<String>],
        &sparse(&params, |param| param.duration_ms) as &[Option<i32>],
        &sparse(&params, |param| param.result) as &[Option<&Value>],
    )
    .fetch_one(&mut *connection)
    .await?;
    let ended = |n: &i64, is_applied| Row {
        n: *n,
        is_applied,
        is_cancelled: false,
        successor_id: None,
        successor_key: None,
    };
    let mut rows: Vec<Row> = written.applied.iter().map(|n| ended(n, true)).collect();
    rows.extend(written.lost.iter().map(|n| ended(n, false)));
    let left = written.left;
    if !left.is_empty() {
        let at = |n: i64| usize::try_from(n - 1).unwrap_or(usize::MAX);
        let some: Vec<&AttemptEnd> = left.iter().filter_map(|n| ends.get(at(*n)).copied()).collect();
        let of_some = write(connection, &some).await?;
        rows.extend(of_some.into_iter().filter_map(|row| Some(Row { n: *left.get(at(row.n))?, ..row })));
    }
    Ok(rows)
}
