//! Why a job is not running, or when it will: every gate in order, the first closed one is the reason.

use crate::{
    breaker::{Breaker, BreakerState},
    id::ResyncId,
    job::JobStatus,
    rules::breaker::PROBES,
};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// A gate between a job and its next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ReasonCode {
    /// Someone paused the integration, or a 410 did.
    IntegrationPaused,
    /// The integration is switched off.
    IntegrationDisabled,
    /// Someone paused the re-sync it belongs to.
    ResyncPaused,
    /// The breaker holds the jobs.
    CircuitOpen,
    /// It is not its time yet.
    Scheduled,
    /// It failed and waits for the next attempt.
    WaitingRetry,
    /// Another job of its serialize key goes first.
    BehindSerializeKey,
    /// The external system asked for quiet (429).
    HeldByReceiver,
    /// The limit's next slot is in the future.
    RateLimited,
    /// As many jobs run as may at once.
    ConcurrencyFull,
    /// No process claims jobs; of an external integration: no external worker holds any.
    NoWorker,
    /// Others go first.
    BehindInQueue,
    /// It is being processed and was called off: its worker has not let go of it yet.
    CancelRequested,
}

/// One closed gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Reason {
    /// Which gate.
    pub code: ReasonCode,
    /// In words, with the numbers.
    pub detail: String,
    /// When it opens by itself, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<DateTime<Utc>>,
}

/// `GET /jobs/{id}/explain`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Explanation {
    /// The job's status.
    pub state: JobStatus,
    /// The closed gates in order; empty when nothing holds it.
    pub reasons: Vec<Reason>,
    /// When it will run, as far as every closed gate knows when it opens.
    pub runs_at: Option<DateTime<Utc>>,
}

/// What the gates are judged by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gates {
    /// The job's status.
    pub status: JobStatus,
    /// When someone asked to call it off, while it is being processed.
    pub cancel_requested_at: Option<DateTime<Utc>>,
    /// Paused, with the reason if there is one.
    pub paused: Option<Option<String>>,
    /// The paused re-sync that holds it.
    pub paused_resync: Option<ResyncId>,
    /// Switched off.
    pub is_disabled: bool,
    /// Its circuit breaker.
    pub breaker: Breaker,
    /// Not before then.
    pub run_at: DateTime<Utc>,
    /// Next attempt.
    pub retry_at: Option<DateTime<Utc>>,
    /// Jobs of its serialize key before it.
    pub ahead_of_key: i64,
    /// Quiet until then.
    pub held_until: Option<DateTime<Utc>>,
    /// The limit's next free slot.
    pub next_slot_at: Option<DateTime<Utc>>,
    /// Jobs of the integration that run.
    pub processing: i64,
    /// How many may.
    pub max_concurrency: i64,
    /// Whether external workers take its jobs, and no process of ours.
    pub is_external: bool,
    /// Who claims.
    pub workers: i64,
    /// The program whose processes they would be, of a program's own jobs.
    pub program: Option<String>,
    /// Claimable jobs of the integration before it, as far as they were counted.
    pub ahead: i64,
}

/// Judges the gates.
#[must_use]
pub fn explain(gates: &Gates, now: DateTime<Utc>) -> Explanation {
    let mut reasons = Vec::new();
    let mut closed = |code, detail: String, until| reasons.push(Reason { code, detail, until });
    let is_waiting =
        matches!(gates.status, JobStatus::Pending | JobStatus::ToBeRetried | JobStatus::Retrying);
    if is_waiting {
        if gates.is_disabled {
            closed(ReasonCode::IntegrationDisabled, "The integration is switched off.".into(), None);
        }
        if let Some(reason) = &gates.paused {
            let detail = reason.as_ref().map_or_else(
                || "The integration is paused; its jobs are kept.".to_owned(),
                |reason| format!("The integration is paused: {reason}"),
            );
            closed(ReasonCode::IntegrationPaused, detail, None);
        }
        if let Some(id) = gates.paused_resync {
            let detail = format!(
                "Its re-sync is paused and holds it: resume that under Re-syncs, or with POST /resyncs/{id}/resume."
            );
            closed(ReasonCode::ResyncPaused, detail, None);
        }
        if let Some((detail, until)) = circuit(&gates.breaker, gates.processing) {
            closed(ReasonCode::CircuitOpen, detail, until);
        }
        if gates.run_at > now {
            closed(ReasonCode::Scheduled, "It is scheduled for later.".into(), Some(gates.run_at));
        }
        if let Some(at) = gates.retry_at.filter(|at| *at > now) {
            closed(ReasonCode::WaitingRetry, "The last attempt failed; the next one waits.".into(), Some(at));
        }
        if gates.ahead_of_key > 0 {
            let detail = format!("{} of its serialize key go first.", gates.ahead_of_key);
            closed(ReasonCode::BehindSerializeKey, detail, None);
        }
        if let Some(at) = gates.held_until.filter(|at| *at > now) {
            closed(ReasonCode::HeldByReceiver, "The external system asked for quiet (429).".into(), Some(at));
        }
        if let Some(at) = gates.next_slot_at.filter(|at| *at > now) {
            closed(ReasonCode::RateLimited, "The rate limit is used up for the moment.".into(), Some(at));
        }
        if gates.processing >= gates.max_concurrency {
            let (running, most) = (gates.processing, gates.max_concurrency);
            let detail = if running > most {
                // A bundle's request carries many jobs.
                format!("{running} jobs are under way; the next go out when fewer than {most} are left.")
            } else {
                format!("{running} of {most} jobs run already.")
            };
            closed(ReasonCode::ConcurrencyFull, detail, None);
        }
        if gates.workers == 0 {
            let detail = match &gates.program {
                _ if gates.is_external => {
                    "No external worker takes jobs of this integration; Headgate's own workers leave them alone.".to_owned()
                }
                Some(program) => format!("No process of the program {program} that does jobs of this kind claims any: start one."),
                None => "No process claims jobs: start a worker.".to_owned(),
            };
            closed(ReasonCode::NoWorker, detail, None);
        }
        if gates.ahead > 0 {
            closed(ReasonCode::BehindInQueue, format!("{} jobs go first.", gates.ahead), None);
        }
    }
    if gates.cancel_requested_at.is_some() {
        let detail = "Cancellation was requested; its worker has not let go of it yet.";
        closed(ReasonCode::CancelRequested, detail.into(), None);
    }
    let runs_at = if is_waiting && reasons.iter().all(|reason| reason.until.is_some()) {
        Some(reasons.iter().filter_map(|reason| reason.until).max().unwrap_or(now))
    } else {
        None
    };
    Explanation { state: gates.status, reasons, runs_at }
}

/// What the breaker holds the job with, and until when.
fn circuit(breaker: &Breaker, processing: i64) -> Option<(String, Option<DateTime<Utc>>)> {
    let is_full = breaker.at_once.is_some_and(|at_once| processing >= i64::from(at_once));
    match breaker.state {
        BreakerState::Closed => None,
        BreakerState::Open => {
            let why = breaker.reason.as_deref().unwrap_or("too many attempts failed");
            Some((
                format!("The circuit is open: {why}. It waits here; no attempt is counted."),
                breaker.probe_at,
            ))
        }
        BreakerState::HalfOpen => is_full.then(|| {
            let detail = format!("The circuit is half-open: {PROBES} probes go first and decide.");
            (detail, None)
        }),
        BreakerState::Ramping => is_full.then(|| {
            let most = breaker.at_once.unwrap_or_default();
            (format!("The circuit was open and ramps up: {most} jobs at once for now."), None)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::Duration;

    fn open(now: DateTime<Utc>) -> Gates {
        Gates {
            status: JobStatus::Pending,
            cancel_requested_at: None,
            paused: None,
            paused_resync: None,
            is_disabled: false,
            breaker: Breaker::default(),
            run_at: now,
            retry_at: None,
            ahead_of_key: 0,
            held_until: None,
            next_slot_at: None,
            processing: 0,
            max_concurrency: 50,
            is_external: false,
            workers: 1,
            program: None,
            ahead: 0,
        }
    }

    fn breaker(state: BreakerState, at_once: i32, probe_at: Option<DateTime<Utc>>) -> Breaker {
        Breaker { state, at_once: Some(at_once), probe_at, ..Breaker::default() }
    }

    #[test]
    fn a_circuit_that_lets_some_through_holds_nobody_while_there_is_room() {
        let now = DateTime::UNIX_EPOCH;
        for (state, at_once) in [(BreakerState::HalfOpen, 3), (BreakerState::Ramping, 6)] {
            let gates = Gates { breaker: breaker(state, at_once, None), processing: 2, ..open(now) };
            assert_eq!(explain(&gates, now).runs_at, Some(now), "{state:?}");
        }
    }

    #[test]
    fn each_cause_is_named_first_when_it_is_the_only_one() {
        let now = DateTime::UNIX_EPOCH + Duration::days(1);
        let later = now + Duration::seconds(30);
        type Closing = Box<dyn Fn(&mut Gates)>;
        let cases: Vec<(ReasonCode, Closing, bool)> = vec![
            (ReasonCode::IntegrationPaused, Box::new(|g| g.paused = Some(None)), false),
            (ReasonCode::IntegrationDisabled, Box::new(|g| g.is_disabled = true), false),
            (
                ReasonCode::CircuitOpen,
                Box::new(move |g| g.breaker = breaker(BreakerState::Open, 0, Some(later))),
                true,
            ),
            (
                ReasonCode::CircuitOpen,
                Box::new(|g| (g.breaker, g.processing) = (breaker(BreakerState::HalfOpen, 2, None), 2)),
                false,
            ),
            (
                ReasonCode::CircuitOpen,
                Box::new(|g| (g.breaker, g.processing) = (breaker(BreakerState::Ramping, 6, None), 6)),
                false,
            ),
            (ReasonCode::Scheduled, Box::new(move |g| g.run_at = later), true),
            (ReasonCode::WaitingRetry, Box::new(move |g| g.retry_at = Some(later)), true),
            (ReasonCode::BehindSerializeKey, Box::new(|g| g.ahead_of_key = 2), false),
            (ReasonCode::HeldByReceiver, Box::new(move |g| g.held_until = Some(later)), true),
            (ReasonCode::RateLimited, Box::new(move |g| g.next_slot_at = Some(later)), true),
            (ReasonCode::ConcurrencyFull, Box::new(|g| g.processing = 50), false),
            (ReasonCode::NoWorker, Box::new(|g| g.workers = 0), false),
            (ReasonCode::BehindInQueue, Box::new(|g| g.ahead = 7), false),
        ];
        for (code, close, is_timed) in cases {
            let mut gates = open(now);
            close(&mut gates);
            let answer = explain(&gates, now);
            assert_eq!(answer.reasons.iter().map(|r| r.code).collect::<Vec<_>>(), [code]);
            assert_eq!(answer.runs_at, is_timed.then_some(later), "{code:?}");
        }
        assert_eq!(explain(&open(now), now).runs_at, Some(now));
    }

    #[test]
    fn one_that_was_called_off_while_it_is_processed_says_whom_it_waits_for() {
        let now = DateTime::UNIX_EPOCH;
        let gates = Gates { status: JobStatus::Processing, cancel_requested_at: Some(now), ..open(now) };
        let answer = explain(&gates, now);
        assert_eq!((answer.reasons.len(), answer.runs_at), (1, None));
        assert_eq!(answer.reasons[0].code, ReasonCode::CancelRequested);
    }

    #[test]
    fn a_job_that_does_not_wait_has_no_reasons() {
        let now = DateTime::UNIX_EPOCH;
        for status in [JobStatus::Processing, JobStatus::Completed, JobStatus::Failed, JobStatus::Cancelled] {
            let gates = Gates { status, paused: Some(None), ..open(now) };
            assert_eq!(explain(&gates, now), Explanation { state: status, reasons: vec![], runs_at: None });
        }
    }
}
