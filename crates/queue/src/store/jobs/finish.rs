//! The end of an attempt: what came of it is written together with the counters, fenced by the lease.

use crate::{
    error::QueueError,
    pool::probing_settings,
    store::jobs::{
        ClaimedJob,
        columns::{column, sparse},
        keys,
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

/// What was done to complete a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// A request was sent and accepted.
    Sent,
    /// There was nothing to send.
    Unchanged,
    /// Something else than sending.
    Done,
}

impl How {
    /// As the job's `outcome` reads.
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
    /// In words.
    pub message: String,
    /// The answer, if one came.
    pub response: Option<Response>,
    /// What was sent, for people to look at when the job becomes a dead letter.
    pub sent_body: Option<Value>,
    /// What went over the wire, if something could have.
    pub exchange: Option<Box<Exchange>>,
}

/// How a held job's attempt ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// Done.
    Completed {
        /// What was done.
        how: How,
        /// The answer, if one came.
        response: Option<Response>,
        /// What the job produced.
        result: Option<Value>,
    },
    /// Called off, with the reason.
    Cancelled {
        /// As the job's `outcome` reads.
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
    /// Given back, the attempt not counted.
    Released {
        /// Not before then.
        until: DateTime<Utc>,
    },
}

/// One job and how its attempt ends.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// Which job.
    pub job_id: JobId,
    /// For which integration.
    pub integration_id: IntegrationId,
    /// Its deduplication id: with the integration the order of locks.
    pub deduplication_id: Option<String>,
    /// Its serialize key, which is locked first.
    pub serialize_key: Option<String>,
    /// The lease it is held by.
    pub assignment_id: AssignmentId,
    /// From begin to verdict.
    pub duration: Duration,
    /// How it ends.
    pub ending: Ending,
    /// Whether something it sent may have arrived, and nothing else remembers that.
    pub is_doubtful: bool,
}

impl End {
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
            is_doubtful: false,
        }
    }

    /// Whether nothing of it needs more than the everyday statement: it leaves no failed attempt and puts nothing back.
    #[must_use]
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.ending, Ending::Completed { .. } | Ending::Cancelled { .. }) && !self.is_doubtful
    }

    pub(super) fn is_final(&self) -> bool {
        matches!(self.ending, Ending::Completed { .. } | Ending::Cancelled { .. } | Ending::Dead { .. })
    }

    /// Whether the job goes on, at once or so soon that a claimer has to know when.
    fn goes_on(&self) -> bool {
        matches!(self.ending, Ending::Retried { .. } | Ending::Released { .. })
    }

    pub(super) fn lock_order(&self) -> (IntegrationId, bool, Option<&str>, JobId) {
        let deduplication_id = self.deduplication_id.as_deref();
        (self.integration_id, deduplication_id.is_none(), deduplication_id, self.job_id)
    }
}

/// Whether an end was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It was.
    Yes,
    /// The job had been called off meanwhile: instead of going on, or becoming a dead letter, it ended as cancelled.
    CalledOff,
    /// The job came to its end some other way before (its integration was deleted): nothing was recorded.
    AlreadyDone,
    /// The lease was taken away: nothing was recorded.
    LeaseLost,
}

impl Applied {
    /// Whether the attempt's end stands in the database now.
    #[must_use]
    pub fn is_recorded(self) -> bool {
        matches!(self, Self::Yes | Self::CalledOff)
    }
}

/// How transactions begin whose statements probe tables by key, and do nothing else with them: accepting, finishing, steering. Without it a
/// plan made while `jobs` was almost empty reads the whole table for every batch once it has grown, until the next `analyze`. Plans are kept:
/// making one took longer than running it.
///
/// No statement under it may join two things without an index (lists that came in, steps of its own): that can only be done pair by pair,
/// which for 5,000 rows is 25 million pairs. `tests/it/jobs/scaling.rs` holds the hot ones to that.
pub const BEGIN: &str = concat!("begin isolation level read committed; ", probing_settings!("set local"));

/// What came of a batch of ends.
#[derive(Debug)]
pub struct Finished {
    /// For each, in the order of the input, whether it was recorded.
    pub applied: Vec<Applied>,
    /// Whether something is claimable, or will be: what waited behind one of them, or one of them itself.
    pub is_work_made: bool,
}

/// Ends a batch of attempts.
///
/// # Errors
/// When the database is away, or the batch lost a race (a deadlock, a unique row, a lock that was not given within the transaction's
/// `lock_timeout`): repeat it in parts.
pub async fn finish(connection: &mut PgConnection, ends: &[End]) -> Result<Finished, QueueError> {
    if ends.is_empty() {
        return Ok(Finished { applied: Vec::new(), is_work_made: false });
    }
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by(|a, b| ends[*a].lock_order().cmp(&ends[*b].lock_order()));
    let sorted: Vec<&End> = order.iter().map(|index| &ends[*index]).collect();

    // Also of those that go on: one that was called off meanwhile ends here, and keys are locked before jobs.
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
    let mut is_work_made = sorted.iter().any(|end| end.goes_on());
    for row in rows {
        is_work_made |= row.successor_id.is_some();
        let Some(at) = usize::try_from(row.n - 1).ok().filter(|at| *at < sorted.len()) else { continue };
        applied[order[at]] = match (row.is_applied, row.is_called_off) {
            (true, false) => Applied::Yes,
            (true, true) => Applied::CalledOff,
            (false, _) => Applied::LeaseLost,
        };
        if row.is_applied && (row.is_called_off || sorted[at].is_final()) {
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
        // Another key than the ended job's: whoever decides its head right now must have committed before we look.
        keys::lock(connection, &successors.0, &successors.1).await?;
        keys::advance(connection, &successors.0, &successors.1).await?;
    }
    Ok(Finished { applied, is_work_made })
}

struct Row {
    n: i64,
    is_applied: bool,
    /// It ended as cancelled instead.
    is_called_off: bool,
    successor_id: Option<JobId>,
    successor_key: Option<String>,
}

async fn write(connection: &mut PgConnection, ends: &[&End]) -> Result<Vec<Row>, QueueError> {
    let lines: Vec<Line> = ends.iter().map(|end| Line::of(end)).collect();
    let rows = sqlx::query_file_as!(
        Row,
        "src/store/jobs/finish.sql",
        &column(ends, |end| end.job_id.0),
        &column(ends, |end| end.assignment_id.0),
        &column(&lines, |line| line.action),
        &column(&lines, |line| line.outcome) as &[Option<&str>],
        &column(&lines, |line| line.attempt_outcome) as &[Option<&str>],
        &column(&lines, |line| line.wait_us) as &[Option<i64>],
        &column(&lines, |line| line.wait_reason) as &[Option<&str>],
        &column(&lines, |line| line.until) as &[Option<DateTime<Utc>>],
        &column(&lines, |line| line
            .response
            .map(|response| i16::try_from(response.status).unwrap_or(i16::MAX))) as &[Option<i16>],
        &column(&lines, |line| line.response.map(|response| sanitise(&response.excerpt, EXCERPT_CHARS)))
            as &[Option<String>],
        &column(&lines, |line| line.duration_ms) as &[Option<i32>],
        &column(&lines, |line| line.result.cloned()) as &[Option<Value>],
        &column(&lines, |line| line.kind) as &[Option<&str>],
        &column(&lines, |line| line.attempt_kind) as &[Option<&str>],
        &column(&lines, |line| line.message.clone()) as &[Option<String>],
        &column(&lines, |line| line.fingerprint.clone()) as &[Option<String>],
        &column(&lines, |line| line.dead_letter_id.map(|id| id.0)) as &[Option<uuid::Uuid>],
        &column(&lines, |line| line.sent_body.cloned()) as &[Option<Value>],
        &column(ends, |end| end.is_doubtful),
        // Of failed attempts alone: the everyday statement knows nothing of it.
        &column(&lines, |line| line
            .exchange
            .and_then(|exchange| serde_json::to_value(exchange).ok())
            .filter(|exchange| model::json::check(exchange).is_ok())) as &[Option<Value>],
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The everyday statement first; what has a successor by then is ended by the other one. Its rows are locked already.
async fn write_plain(connection: &mut PgConnection, ends: &[&End]) -> Result<Vec<Row>, QueueError> {
    let lines: Vec<Line> = ends.iter().map(|end| Line::of(end)).collect();
    let written = sqlx::query_file!(
        "src/store/jobs/finish_plain.sql",
        &column(ends, |end| end.job_id.0),
        &column(ends, |end| end.assignment_id.0),
        &column(&lines, |line| line.action),
        &sparse(&lines, |line| line.outcome) as &[Option<&str>],
        &sparse(&lines, |line| line
            .response
            .map(|response| i16::try_from(response.status).unwrap_or(i16::MAX))) as &[Option<i16>],
        &sparse(&lines, |line| line.response.map(|response| sanitise(&response.excerpt, EXCERPT_CHARS)))
            as &[Option<String>],
        &sparse(&lines, |line| line.duration_ms) as &[Option<i32>],
        &sparse(&lines, |line| line.result) as &[Option<&Value>],
    )
    .fetch_one(&mut *connection)
    .await?;
    let ended = |n: &i64, is_applied| Row {
        n: *n,
        is_applied,
        is_called_off: false,
        successor_id: None,
        successor_key: None,
    };
    let mut rows: Vec<Row> = written.applied.iter().map(|n| ended(n, true)).collect();
    rows.extend(written.lost.iter().map(|n| ended(n, false)));
    let left = written.left;
    if !left.is_empty() {
        let at = |n: i64| usize::try_from(n - 1).unwrap_or(usize::MAX);
        let some: Vec<&End> = left.iter().filter_map(|n| ends.get(at(*n)).copied()).collect();
        let of_some = write(connection, &some).await?;
        rows.extend(of_some.into_iter().filter_map(|row| Some(Row { n: *left.get(at(row.n))?, ..row })));
    }
    Ok(rows)
}

/// An end as the statement's columns take it.
#[derive(Default)]
struct Line<'a> {
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

impl<'a> Line<'a> {
    fn of(end: &'a End) -> Self {
        let duration_ms = Some(i32::try_from(end.duration.as_millis()).unwrap_or(i32::MAX));
        match &end.ending {
            Ending::Completed { how, response, result } => Self {
                action: 3,
                outcome: Some(how.as_str()),
                response: response.as_ref(),
                duration_ms,
                // A result Postgres would refuse (a NUL, too deep) must not keep the job from completing.
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

/// The kind of one failed attempt, whatever became of the job.
fn retry_kind(failure: &Failure) -> ErrorKind {
    match failure.verdict {
        Verdict::Retry { kind, .. } => kind,
        Verdict::GiveUp { .. } | Verdict::Completed => ErrorKind::NotRetryable,
    }
}
