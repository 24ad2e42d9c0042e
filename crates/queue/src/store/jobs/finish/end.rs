//! Recording the end of an attempt: the result is written together with the counters, fenced by the lease.

use crate::{
    error::QueueError,
    pool::lookup_settings,
    store::jobs::{
        ClaimedJob,
        accept::{
            columns::{column, sparse},
            keys,
        },
    },
};
use chrono::{DateTime, Utc};
use model::{
    attempt::AttemptOutcome,
    exchange::Exchange,
    id::{AssignmentId, DeadLetterId, IntegrationId, JobId},
    rules::{
        fingerprint::{cause_of, fingerprint},
        verdict::{ErrorKind, Verdict},
    },
    text::{EXCERPT_CHARS, sanitise},
};
use serde_json::Value;
use sqlx::PgConnection;
use std::{collections::BTreeSet, time::Duration};

/// How a job was completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// A request was sent and accepted.
    Sent,
    /// There was nothing to send.
    Unchanged,
    /// Done, by a job that sends nothing.
    Done,
}

impl Completion {
    /// The job's `outcome`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Unchanged => "unchanged",
            Self::Done => "done",
        }
    }
}

/// The answer of an external system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// The beginning of the body.
    pub excerpt: String,
    /// From the request to the end of the answer.
    pub duration: Duration,
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// What follows: [`Verdict::Retry`] or [`Verdict::GiveUp`].
    pub verdict: Verdict,
    /// The error message.
    pub message: String,
    /// The answer, if one came.
    pub response: Option<Response>,
    /// The body that was sent, kept for people to see when the job becomes a dead letter.
    pub sent_body: Option<Value>,
    /// The HTTP exchange, if there was or may have been one.
    pub exchange: Option<Box<Exchange>>,
}

/// How the attempt of a leased job ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// Done.
    Completed {
        /// How.
        how: Completion,
        /// The answer, if one came.
        response: Option<Response>,
        /// What the job produced.
        result: Option<Value>,
    },
    /// Cancelled.
    Cancelled {
        /// The job's `outcome`.
        why: &'static str,
    },
    /// Tried again later.
    Retried {
        /// Why.
        failure: Failure,
        /// How the attempt ended.
        attempt_outcome: AttemptOutcome,
        /// The wait until the next attempt.
        wait: Duration,
        /// Why it is that long.
        wait_reason: String,
    },
    /// Not tried again: a dead letter.
    Dead {
        /// Why.
        failure: Failure,
        /// How the last attempt ended.
        attempt_outcome: AttemptOutcome,
        /// Why it was given up.
        kind: ErrorKind,
    },
    /// Released: the attempt is not counted.
    Released {
        /// It runs at this time or later.
        until: DateTime<Utc>,
    },
}

/// One job and how its attempt ends.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptEnd {
    /// The job's id.
    pub job_id: JobId,
    /// Its lane.
    pub integration_id: IntegrationId,
    /// Its deduplication id. With the integration it gives the order of locks.
    pub deduplication_id: Option<String>,
    /// Its serialize key, which is locked first.
    pub serialize_key: Option<String>,
    /// The lease under which the attempt ran.
    pub assignment_id: AssignmentId,
    /// From begin to verdict.
    pub duration: Duration,
    /// How the attempt ends.
    pub ending: Ending,
    /// Whether something it sent may have arrived of which no other row keeps a note.
    pub is_uncertain: bool,
}

impl AttemptEnd {
    /// The end of a claimed job's attempt.
    #[must_use]
    pub fn of(job: &ClaimedJob, duration: Duration, ending: Ending) -> Self {
        Self {
            job_id: job.id,
            integration_id: job.integration_id,
            deduplication_id: job.deduplication_id.clone(),
            serialize_key: job.serialize_key.clone(),
            assignment_id: job.assignment_id,
            duration,
            ending,
            is_uncertain: false,
        }
    }

    /// Whether the statement for the usual case suffices: there is no failed attempt to record, and the job does not go back to the queue.
    #[must_use]
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.ending, Ending::Completed { .. } | Ending::Cancelled { .. }) && !self.is_uncertain
    }

    pub(in crate::store::jobs) fn is_final(&self) -> bool {
        matches!(self.ending, Ending::Completed { .. } | Ending::Cancelled { .. } | Ending::Dead { .. })
    }

    /// Whether the job goes on, at once or at a time that a claimer has to know.
    fn continues(&self) -> bool {
        matches!(self.ending, Ending::Retried { .. } | Ending::Released { .. })
    }

    pub(in crate::store::jobs) fn lock_order(&self) -> (IntegrationId, bool, Option<&str>, JobId) {
        let deduplication_id = self.deduplication_id.as_deref();
        (self.integration_id, deduplication_id.is_none(), deduplication_id, self.job_id)
    }
}

/// Whether an end was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It was.
    Yes,
    /// The job had been cancelled meanwhile: instead of going on, or becoming a dead letter, it ended as cancelled.
    Cancelled,
    /// The job had ended before (its integration was deleted): nothing was recorded.
    AlreadyDone,
    /// The lease was lost: nothing was recorded.
    LeaseLost,
}

impl Applied {
    /// Whether the end of the attempt is in the database now.
    #[must_use]
    pub fn is_recorded(self) -> bool {
        matches!(self, Self::Yes | Self::Cancelled)
    }
}

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
pub async fn finish(connection: &mut PgConnection, ends: &[AttemptEnd]) -> Result<Finished, QueueError> {
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

async fn write(connection: &mut PgConnection, ends: &[&AttemptEnd]) -> Result<Vec<Row>, QueueError> {
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
async fn write_plain(connection: &mut PgConnection, ends: &[&AttemptEnd]) -> Result<Vec<Row>, QueueError> {
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

#[derive(Default)]
struct EndParams<'a> {
    action: i16,
    outcome: Option<&'static str>,
    attempt_outcome: Option<&'static str>,
    wait_us: Option<i64>,
    wait_reason: Option<&'a str>,
    until: Option<DateTime<Utc>>,
    response: Option<&'a Response>,
    duration_ms: Option<i32>,
    result: Option<&'a Value>,
    kind: Option<&'static str>,
    attempt_kind: Option<&'static str>,
    message: Option<String>,
    fingerprint: Option<String>,
    dead_letter_id: Option<DeadLetterId>,
    sent_body: Option<&'a Value>,
    exchange: Option<&'a Exchange>,
}

impl<'a> EndParams<'a> {
    fn of(end: &'a AttemptEnd) -> Self {
        let duration_ms = Some(i32::try_from(end.duration.as_millis()).unwrap_or(i32::MAX));
        match &end.ending {
            Ending::Completed { how, response, result } => Self {
                action: 3,
                outcome: Some(how.as_str()),
                response: response.as_ref(),
                duration_ms,
                // A result that Postgres would refuse (a NUL, too deep) must not keep the job from completing.
                result: result.as_ref().filter(|result| model::json::check(result).is_ok()),
                ..Self::default()
            },
            Ending::Cancelled { why } => {
                Self { action: 4, outcome: Some(why), duration_ms, ..Self::default() }
            }
            Ending::Released { until } => Self { action: 0, until: Some(*until), ..Self::default() },
            Ending::Retried { failure, attempt_outcome, wait, wait_reason } => Self {
                action: 2,
                wait_us: Some(i64::try_from(wait.as_micros()).unwrap_or(i64::MAX / 2)),
                wait_reason: Some(wait_reason),
                kind: Some(retry_kind(failure).as_str()),
                ..Self::failed(end.integration_id, failure, *attempt_outcome, duration_ms)
            },
            Ending::Dead { failure, attempt_outcome, kind } => Self {
                action: 5,
                kind: Some(kind.as_str()),
                dead_letter_id: Some(DeadLetterId::generate()),
                sent_body: failure.sent_body.as_ref().filter(|body| model::json::check(body).is_ok()),
                ..Self::failed(end.integration_id, failure, *attempt_outcome, duration_ms)
            },
        }
    }

    fn failed(
        integration_id: IntegrationId,
        failure: &'a Failure,
        outcome: AttemptOutcome,
        duration_ms: Option<i32>,
    ) -> Self {
        let status = failure.response.as_ref().and_then(|response| i16::try_from(response.status).ok());
        Self {
            fingerprint: Some(fingerprint(integration_id, cause_of(status, &failure.message))),
            attempt_outcome: Some(outcome.as_str()),
            attempt_kind: Some(retry_kind(failure).as_str()),
            message: Some(sanitise(&failure.message, EXCERPT_CHARS)),
            response: failure.response.as_ref(),
            exchange: failure.exchange.as_deref(),
            duration_ms,
            ..Self::default()
        }
    }
}

/// The error kind of one failed attempt, whatever became of the job.
fn retry_kind(failure: &Failure) -> ErrorKind {
    match failure.verdict {
        Verdict::Retry { kind, .. } => kind,
        Verdict::GiveUp { .. } | Verdict::Completed => ErrorKind::NotRetryable,
    }
}
