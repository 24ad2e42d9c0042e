//! How the attempt of a leased job ends, and whether that was recorded.

use crate::store::jobs::ClaimedJob;
use chrono::{DateTime, Utc};
use model::attempt::AttemptOutcome;
use model::exchange::Exchange;
use model::id::{AssignmentId, IntegrationId, JobId};
use model::rules::verdict::{ErrorKind, Verdict};
use serde_json::Value;
use std::time::Duration;

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
    pub job_id: JobId,
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

    pub(crate) fn is_final(&self) -> bool {
        matches!(self.ending, Ending::Completed { .. } | Ending::Cancelled { .. } | Ending::Dead { .. })
    }

    /// Whether the job goes on, at once or at a time that a claimer has to know.
    pub(super) fn continues(&self) -> bool {
        matches!(self.ending, Ending::Retried { .. } | Ending::Released { .. })
    }

    pub(crate) fn lock_order(&self) -> (IntegrationId, bool, Option<&str>, JobId) {
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
