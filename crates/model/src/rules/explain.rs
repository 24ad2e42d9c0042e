//! Why a job is not running, or when it will: all gates it has to pass, in order; the first closed one is the main reason.

use crate::breaker::{Breaker, BreakerState};
use crate::id::ResyncId;
use crate::job::JobStatus;
use crate::rules::breaker::PROBES;
use crate::text::grouped;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// A gate between a job and its next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ReasonCode {
    /// Somebody paused the integration, or a 410 did.
    IntegrationPaused,
    /// The integration is switched off.
    IntegrationDisabled,
    /// Somebody paused the re-sync it belongs to.
    ResyncPaused,
    /// The circuit breaker lets no jobs through.
    CircuitOpen,
    /// Its `run_at` is in the future.
    Scheduled,
    /// It gathers changes of its record (`debounce`).
    GathersChanges,
    /// It failed and waits for the next attempt.
    WaitingRetry,
    /// Another job of its serialize key comes first.
    BehindSerializeKey,
    /// The external system answered 429: nothing is sent until later.
    HeldByReceiver,
    /// The limit's next slot is in the future.
    RateLimited,
    /// As many jobs are running as may run at once.
    ConcurrencyFull,
    /// No process claims jobs; for an external integration: no external worker has leased any.
    NoWorker,
    /// Other jobs come first.
    BehindInQueue,
    /// It waits but is in no queue, which is a fault of Headgate; maintenance queues it again.
    NotInQueue,
    /// No gate is closed: a worker takes it next.
    NextInLine,
    /// It is being processed and its cancellation was requested: its worker has not released it yet.
    CancelRequested,
    /// It is being processed by a worker whose heartbeats stopped: lease recovery puts it back.
    LeaseLost,
}

impl ReasonCode {
    /// What opens the gate sooner, for people.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            Self::IntegrationPaused => "Resume the integration.",
            Self::IntegrationDisabled => "Switch the integration on.",
            Self::ResyncPaused => "Resume the re-sync.",
            Self::CircuitOpen => "Fix the external system; then probe or close the breaker.",
            Self::Scheduled => "Wait: its time was set when it was created.",
            Self::GathersChanges => {
                "Wait, or shorten the integration's debounce for the next changes; an urgent change sends it at once."
            }
            Self::WaitingRetry => "Wait, or requeue it: then it is tried at once.",
            Self::BehindSerializeKey => "Check the first job of that key.",
            Self::HeldByReceiver => "Wait, or ask the external system for a higher limit.",
            Self::RateLimited => "Wait, or raise the limit if the external system allows more.",
            Self::ConcurrencyFull => "Wait, or raise its max_concurrency if the external system allows more.",
            Self::NoWorker => "Start a worker, or find out why none is running.",
            Self::BehindInQueue => "Wait; a job of a higher priority would come first.",
            Self::NotInQueue => "Cancel and requeue it, or wait: Headgate finds such jobs within hours.",
            Self::NextInLine => "Wait a moment.",
            Self::CancelRequested => "Wait for its worker, or for the end of its lease.",
            Self::LeaseLost => "Wait for lease recovery, which runs every few seconds.",
        }
    }
}

/// Jobs ahead are counted up to this.
pub const MAX_AHEAD: i64 = 1_000;

/// One closed gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Reason {
    /// The gate.
    pub code: ReasonCode,
    /// As a sentence, with numbers.
    pub detail: String,
    /// What opens it sooner.
    pub remedy: String,
    /// When it opens by itself, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<DateTime<Utc>>,
}

/// `GET /jobs/{id}/explain`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Explanation {
    /// The job's status.
    pub state: JobStatus,
    /// The closed gates in order, or that it is next; empty for a job that does not wait.
    pub reasons: Vec<Reason>,
    /// When it will run; null unless it is known of every closed gate when it opens.
    pub runs_at: Option<DateTime<Utc>>,
}

/// State that decides which gates are closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gates {
    /// The job's status.
    pub status: JobStatus,
    /// When its cancellation was requested, while it is being processed.
    pub cancel_requested_at: Option<DateTime<Utc>>,
    /// The integration is paused, with the reason if there is one.
    pub paused: Option<Option<String>>,
    /// The paused re-sync that parked it.
    pub paused_resync: Option<ResyncId>,
    /// The integration is switched off.
    pub is_disabled: bool,
    /// Its circuit breaker.
    pub breaker: Breaker,
    /// It runs no earlier.
    pub run_at: DateTime<Utc>,
    /// It gathers changes, at the latest until then.
    pub gathers_until: Option<DateTime<Utc>>,
    /// Next attempt.
    pub retry_at: Option<DateTime<Utc>>,
    /// Jobs of its serialize key before it, counted up to [`MAX_AHEAD`].
    pub ahead_of_key: i64,
    /// The integration is quiet until then.
    pub quiet_until: Option<DateTime<Utc>>,
    /// The limit's next free slot.
    pub next_slot_at: Option<DateTime<Utc>>,
    /// Running jobs of the integration.
    pub processing: i64,
    /// Their maximum.
    pub max_concurrency: i64,
    /// Whether its jobs are taken by external workers instead of Headgate's processes.
    pub is_external: bool,
    /// Processes that claim its jobs.
    pub workers: i64,
    /// The program that runs those processes, for a program's own jobs.
    pub program: Option<String>,
    /// Claimable jobs of the integration before it, counted up to [`MAX_AHEAD`].
    pub ahead: i64,
    /// It is being processed by a worker whose lease has expired.
    pub is_lost: bool,
    /// It should be in the queue and is not.
    pub is_unqueued: bool,
}

/// Lists the closed gates.
#[must_use]
pub fn explain(gates: &Gates, now: DateTime<Utc>) -> Explanation {
    let mut reasons = Vec::new();
    let mut closed = |code: ReasonCode, detail: String, until| {
        reasons.push(Reason { code, detail, remedy: code.remedy().to_owned(), until });
    };
    let is_waiting =
        matches!(gates.status, JobStatus::Pending | JobStatus::ToBeRetried | JobStatus::Retrying);
    if is_waiting {
        if gates.is_disabled {
            closed(ReasonCode::IntegrationDisabled, "The integration is switched off.".into(), None);
        }
        if let Some(reason) = &gates.paused {
            let detail = reason.as_ref().map_or_else(
                || "The integration is paused; its jobs are kept.".to_owned(),
                |reason| format!("The integration is paused: {}.", reason.trim_end_matches('.')),
            );
            closed(ReasonCode::IntegrationPaused, detail, None);
        }
        if let Some(id) = gates.paused_resync {
            let detail = format!(
                "Its re-sync is paused: resume it under Re-syncs, or with POST /resyncs/{id}/resume."
            );
            closed(ReasonCode::ResyncPaused, detail, None);
        }
        if let Some((detail, until)) = circuit(&gates.breaker, gates.processing) {
            closed(ReasonCode::CircuitOpen, detail, until);
        }
        if gates.run_at > now {
            match gates.gathers_until {
                Some(latest) => {
                    let latest = latest.format("%H:%M:%S");
                    let detail = format!(
                        "It gathers changes until the record stops changing, at the latest until {latest} UTC."
                    );
                    closed(ReasonCode::GathersChanges, detail, Some(gates.run_at));
                }
                None => {
                    closed(ReasonCode::Scheduled, "It is scheduled for later.".into(), Some(gates.run_at));
                }
            }
        }
        if let Some(at) = gates.retry_at.filter(|at| *at > now) {
            closed(ReasonCode::WaitingRetry, "The last attempt failed; the next one waits.".into(), Some(at));
        }
        if gates.ahead_of_key > 0 {
            let detail = go_first(gates.ahead_of_key, " of its serialize key");
            closed(ReasonCode::BehindSerializeKey, detail, None);
        }
        if let Some(at) = gates.quiet_until.filter(|at| *at > now) {
            closed(ReasonCode::HeldByReceiver, "The external system asked to wait (429).".into(), Some(at));
        }
        if let Some(at) = gates.next_slot_at.filter(|at| *at > now) {
            closed(ReasonCode::RateLimited, "The rate limit is used up for the moment.".into(), Some(at));
        }
        if gates.processing >= gates.max_concurrency {
            let (running, max) = (gates.processing, gates.max_concurrency);
            let detail = if running > max {
                // A bundle's request carries many jobs.
                format!("{running} jobs are running; the next ones start when fewer than {max} are left.")
            } else {
                format!("{running} of {max} jobs {} running.", if max == 1 { "is" } else { "are" })
            };
            closed(ReasonCode::ConcurrencyFull, detail, None);
        }
        if gates.workers == 0 {
            let detail = match &gates.program {
                _ if gates.is_external => {
                    "No external worker takes jobs of this integration, and Headgate's own workers do not."
                        .to_owned()
                }
                Some(program) => {
                    format!("No process of the program {program} claims jobs of this type: start one.")
                }
                None => "No process claims jobs: start a worker.".to_owned(),
            };
            closed(ReasonCode::NoWorker, detail, None);
        }
        if gates.ahead > 0 {
            closed(ReasonCode::BehindInQueue, go_first(gates.ahead, ""), None);
        }
        if gates.is_unqueued {
            let detail = "It is in no queue, so that no worker finds it. This is a fault of Headgate.";
            closed(ReasonCode::NotInQueue, detail.into(), None);
        }
    }
    if gates.cancel_requested_at.is_some() {
        let detail = "Cancellation was requested; its worker has not released it yet.";
        closed(ReasonCode::CancelRequested, detail.into(), None);
    }
    if gates.is_lost {
        let detail = "Its worker did not renew its lease: it died, or cannot reach the database. The job is put back; this attempt does not count.";
        closed(ReasonCode::LeaseLost, detail.into(), None);
    }
    let runs_at = if is_waiting && reasons.iter().all(|reason| reason.until.is_some()) {
        Some(reasons.iter().filter_map(|reason| reason.until).max().unwrap_or(now))
    } else {
        None
    };
    if is_waiting && reasons.is_empty() {
        let code = ReasonCode::NextInLine;
        let detail = "Nothing blocks it: the next free worker takes it.".to_owned();
        reasons.push(Reason { code, detail, remedy: code.remedy().to_owned(), until: None });
    }
    Explanation { state: gates.status, reasons, runs_at }
}

fn go_first(ahead: i64, which: &str) -> String {
    match ahead {
        1 => format!("1 job{which} goes first."),
        n if n >= MAX_AHEAD => format!("{} or more jobs{which} go first.", grouped(MAX_AHEAD)),
        n => format!("{n} jobs{which} go first."),
    }
}

/// Whether the breaker is a closed gate, and until when.
fn circuit(breaker: &Breaker, processing: i64) -> Option<(String, Option<DateTime<Utc>>)> {
    let is_full = breaker.at_once.is_some_and(|at_once| processing >= i64::from(at_once));
    match breaker.state {
        BreakerState::Closed => None,
        BreakerState::Open => {
            let why = breaker.reason.as_deref().unwrap_or("too many attempts failed");
            Some((
                format!("The breaker is open: {why}. The job waits; no attempt is counted."),
                breaker.probe_at,
            ))
        }
        BreakerState::HalfOpen => is_full.then(|| {
            let detail = format!("The breaker is half-open: {PROBES} probes go first and decide.");
            (detail, None)
        }),
        BreakerState::Ramping => is_full.then(|| {
            let max = breaker.at_once.unwrap_or_default();
            (format!("The breaker was open and ramps up: {max} jobs at once for now."), None)
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
            gathers_until: None,
            retry_at: None,
            ahead_of_key: 0,
            quiet_until: None,
            next_slot_at: None,
            processing: 0,
            max_concurrency: 50,
            is_external: false,
            workers: 1,
            program: None,
            ahead: 0,
            is_lost: false,
            is_unqueued: false,
        }
    }

    fn breaker(state: BreakerState, at_once: i32, probe_at: Option<DateTime<Utc>>) -> Breaker {
        Breaker { state, at_once: Some(at_once), probe_at, ..Breaker::default() }
    }

    #[test]
    fn a_half_open_or_ramping_circuit_blocks_nothing_below_its_limit() {
        let now = DateTime::UNIX_EPOCH;
        for (state, at_once) in [(BreakerState::HalfOpen, 3), (BreakerState::Ramping, 6)] {
            let gates = Gates { breaker: breaker(state, at_once, None), processing: 2, ..open(now) };
            assert_eq!(explain(&gates, now).runs_at, Some(now), "{state:?}");
        }
    }

    #[test]
    fn each_gate_alone_is_the_only_reason() {
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
            (ReasonCode::HeldByReceiver, Box::new(move |g| g.quiet_until = Some(later)), true),
            (ReasonCode::RateLimited, Box::new(move |g| g.next_slot_at = Some(later)), true),
            (ReasonCode::ConcurrencyFull, Box::new(|g| g.processing = 50), false),
            (ReasonCode::NoWorker, Box::new(|g| g.workers = 0), false),
            (ReasonCode::BehindInQueue, Box::new(|g| g.ahead = 7), false),
            (ReasonCode::NotInQueue, Box::new(|g| g.is_unqueued = true), false),
        ];
        for (code, close, is_timed) in cases {
            let mut gates = open(now);
            close(&mut gates);
            let answer = explain(&gates, now);
            assert_eq!(answer.reasons.iter().map(|r| r.code).collect::<Vec<_>>(), [code]);
            assert_eq!(answer.runs_at, is_timed.then_some(later), "{code:?}");
        }
    }

    #[test]
    fn a_job_without_closed_gates_is_next() {
        let now = DateTime::UNIX_EPOCH;
        for status in [JobStatus::Pending, JobStatus::ToBeRetried, JobStatus::Retrying] {
            let answer = explain(&Gates { status, ..open(now) }, now);
            assert_eq!(answer.reasons.iter().map(|r| r.code).collect::<Vec<_>>(), [ReasonCode::NextInLine]);
            assert_eq!(answer.runs_at, Some(now));
        }
    }

    #[test]
    fn all_closed_gates_are_listed_in_the_order_in_which_a_job_meets_them() {
        let now = DateTime::UNIX_EPOCH + Duration::days(1);
        let later = now + Duration::seconds(30);
        let gates = Gates {
            paused: Some(Some("by hand".to_owned())),
            paused_resync: Some(ResyncId::generate()),
            is_disabled: true,
            breaker: breaker(BreakerState::Open, 0, Some(later)),
            run_at: later,
            retry_at: Some(later),
            ahead_of_key: 1,
            quiet_until: Some(later),
            next_slot_at: Some(later),
            processing: 50,
            workers: 0,
            ahead: MAX_AHEAD,
            is_unqueued: true,
            ..open(now)
        };
        let answer = explain(&gates, now);
        assert_eq!(
            answer.reasons.iter().map(|reason| reason.code).collect::<Vec<_>>(),
            [
                ReasonCode::IntegrationDisabled,
                ReasonCode::IntegrationPaused,
                ReasonCode::ResyncPaused,
                ReasonCode::CircuitOpen,
                ReasonCode::Scheduled,
                ReasonCode::WaitingRetry,
                ReasonCode::BehindSerializeKey,
                ReasonCode::HeldByReceiver,
                ReasonCode::RateLimited,
                ReasonCode::ConcurrencyFull,
                ReasonCode::NoWorker,
                ReasonCode::BehindInQueue,
                ReasonCode::NotInQueue,
            ]
        );
        assert_eq!(answer.runs_at, None, "gates that people open have no time");
        assert!(answer.reasons.iter().all(|reason| !reason.remedy.is_empty()));
        assert_eq!(answer.reasons[11].detail, "1,000 or more jobs go first.");
    }

    #[test]
    fn a_job_of_a_lost_worker_says_so() {
        let now = DateTime::UNIX_EPOCH;
        let gates = Gates { status: JobStatus::Processing, is_lost: true, ..open(now) };
        assert_eq!(explain(&gates, now).reasons[0].code, ReasonCode::LeaseLost);
    }

    #[test]
    fn it_runs_at_the_latest_of_the_times() {
        let now = DateTime::UNIX_EPOCH;
        let (soon, late) = (now + Duration::seconds(5), now + Duration::seconds(9));
        let gates = Gates { retry_at: Some(soon), next_slot_at: Some(late), ..open(now) };
        assert_eq!(explain(&gates, now).runs_at, Some(late));
    }

    #[test]
    fn a_job_with_a_cancel_request_waits_for_its_worker() {
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
