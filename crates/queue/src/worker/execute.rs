//! One attempt, read from top to bottom: expired? → run (with its time-out, until it is called off, panics caught) → judge → hand to the
//! finisher.

use crate::{
    store::{
        jobs::{ClaimedJob, End, Ending, Failure, How},
        lanes,
    },
    worker::{
        CompletedJob, HeldJob, Outcome, Peers, Slots,
        attempts::Attempt,
        finisher::{Finished, Finisher},
        lease::Lease,
        schedules::{Waits, known_waits, waits},
        shared::Shared,
        slots::AT_ONCE,
    },
};
use futures::FutureExt as _;
use model::{
    attempt::AttemptOutcome,
    id::IntegrationId,
    rules::verdict::{ErrorKind, Verdict},
    text::grouped,
};
use std::{any::Any, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::time::{Instant, timeout};

/// The hold of an integration is worth waiting for, but not for ever: this process holds it anyway.
const HOLD_PATIENCE: Duration = Duration::from_secs(5);

/// Runs one claimed job and hands the result to the finisher. Frees the slot in any case.
pub(super) async fn execute(
    shared: Arc<Shared>,
    finisher: Finisher,
    mut job: ClaimedJob,
    peers: Arc<Peers>,
    lease: Arc<Lease>,
) {
    let payload = job.payload.take();
    let ticket = job.clone();
    job.payload = payload;
    let is_expired = job.is_expired;
    let timeout = job
        .timeout_ms
        .and_then(|ms| u64::try_from(ms).ok())
        .map_or(shared.config.job_timeout, Duration::from_millis);
    let slots = Slots::of(Arc::clone(&shared.limiter), job.is_limited, Arc::clone(&lease));
    let held = HeldJob::new(job, timeout, slots.clone(), peers).reporting_to(shared.pool.clone());
    let attempt = Arc::new(Attempt::new(held, ticket, slots, lease));
    let ran = if is_expired {
        Some((Ending::Cancelled { why: "expired" }, None))
    } else {
        shared.attempts.add(&attempt);
        // What a stopped attempt drops may panic too: the job must have an end and the slot come free all the same.
        let ran = AssertUnwindSafe(run(&shared, &attempt)).catch_unwind().await.unwrap_or_else(|panic| {
            judge(&shared, &attempt.held, failed(ErrorKind::Retryable, panicked(panic.as_ref())))
        });
        shared.attempts.remove(attempt.held.assignment_id);
        ran
    };
    let Some((ticket, doubt)) = attempt.end() else { return come_back(&shared, &attempt) };
    let assignment_id = ticket.assignment_id;
    match ran {
        Some((mut ending, done)) => {
            let duration = match &ending {
                Ending::Completed { response: Some(response), .. } => response.duration,
                _ => attempt.began_at.elapsed(),
            };
            if let Some(quiet) = quiet_asked_for(&ending) {
                // On the heap: every attempt would carry the room for it.
                Box::pin(hold(&shared, ticket.integration_id, quiet)).await;
            }
            if matches!(ending, Ending::Retried { .. }) {
                Box::pin(schedule(&shared, &attempt.held, &mut ending)).await;
            }
            let end = End::of(&ticket, duration, ending);
            let is_echo = attempt.held.is_echo();
            finisher.record(Finished { is_echo, ..Finished::new(ticket, end, done, doubt) });
        }
        // Someone else's by now, or soon: nothing is written about it, except what it may have left behind.
        None => {
            shared.abandon(ticket.claim_batch_id);
            if doubt.is_some() {
                finisher.record(Finished::of_a_lost_lease(ticket, doubt));
            }
        }
    }
    shared.let_go(assignment_id);
}

/// The handler yields at last. Its time-out has been recorded: what it answers now is too late, and only its thread is of use.
fn come_back(shared: &Shared, attempt: &Attempt) {
    shared.attempts.came_back();
    shared.room.notify_one();
    let (held, late) = (&attempt.held, attempt.began_at.elapsed());
    tracing::warn!(
        job.id = %held.id,
        job.type = %held.job_type,
        "the handler of {} came back after {late:?}: what it answers for job {} is dropped",
        held.job_type,
        held.id,
    );
}

/// How an attempt ended, with what a completed job's handler is shown; none: the lease was lost, the job is someone else's.
type Ran = Option<(Ending, Option<CompletedJob>)>;

async fn run(shared: &Shared, attempt: &Attempt) -> Ran {
    let held = &attempt.held;
    let handler = Arc::clone(shared.handlers.of(&held.job_type));
    let handle = async {
        if !attempt.lease.stands() {
            // On the heap: every attempt would carry the room for it.
            let stands = held.off_the_clock(Box::pin(attempt.lease.stands_after_all())).await;
            if !stands {
                // Whoever waits for us is told of it too.
                std::future::pending::<()>().await;
            }
        }
        handler.run(held).await
    };
    let mut handled = std::pin::pin!(AssertUnwindSafe(handle).catch_unwind());
    let outcome = loop {
        tokio::select! {
            biased;
            () = attempt.lease.lost.cancelled() => return None,
            result = &mut handled => break result.unwrap_or_else(|panic| failed(ErrorKind::Retryable, panicked(panic.as_ref()))),
            // After the handler: what it has done by now is what happened.
            () = attempt.called_off() => return Some((Ending::Cancelled { why: "cancelled" }, None)),
            () = shared.give_back.cancelled() => break Outcome::Released { until: AT_ONCE },
            () = tokio::time::sleep_until(attempt.deadline()) => {
                if attempt.deadline() <= Instant::now() {
                    break failed(ErrorKind::Timeout, format!("The attempt took longer than {:?}.", held.timeout));
                }
            }
        }
    };
    judge(shared, held, outcome)
}

/// A failure the engine itself states.
pub(super) fn failure(kind: ErrorKind, message: String) -> Failure {
    let verdict = Verdict::Retry { kind, at_least: None, holds_integration: false };
    Failure { verdict, message, response: None, sent_body: None, exchange: None }
}

fn failed(kind: ErrorKind, message: String) -> Outcome {
    Outcome::Failed { error: failure(kind, message) }
}

fn panicked(panic: &(dyn Any + Send)) -> String {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    format!("The handler panicked: {message}")
}

/// What an outcome means for the job.
fn judge(shared: &Shared, held: &HeldJob, outcome: Outcome) -> Ran {
    match outcome {
        Outcome::Completed { how, response, result, receipt } => {
            let done = completed(held, how, receipt);
            Some((Ending::Completed { how, response, result }, Some(done)))
        }
        Outcome::Released { until } => Some((Ending::Released { until }, None)),
        Outcome::Failed { error } => Some((ending_of(shared, held, error), None)),
    }
}

/// What a failure means for the job.
pub(super) fn ending_of(shared: &Shared, held: &HeldJob, error: Failure) -> Ending {
    let waits = known_waits(shared, held.integration_id);
    ending_of_failure(&waits, held.attempt, held.max_attempts, error, held.jitter())
}

/// When it is tried again: as its integration says by now.
async fn schedule(shared: &Shared, held: &HeldJob, ending: &mut Ending) {
    let Ending::Retried { failure, wait, wait_reason, .. } = ending else { return };
    let waits = waits(shared, held.integration_id).await;
    (*wait, *wait_reason) = wait_after(&waits, held.attempt, failure, held.jitter());
}

fn wait_after(waits: &Waits, attempt: i16, failure: &Failure, random: f64) -> (Duration, String) {
    let Waits { backoff, whose } = waits;
    let at_least = match failure.verdict {
        Verdict::Retry { at_least, .. } => at_least.filter(|asked| !asked.is_zero()),
        Verdict::GiveUp { .. } | Verdict::Completed => None,
    };
    let wait = backoff.wait(attempt, at_least, random);
    match at_least {
        Some(asked) if wait >= asked && wait > backoff.wait(attempt, None, random) => {
            let who = if failure.response.is_some() { "their Retry-After" } else { "the handler" };
            let seconds = grouped(i64::try_from(asked.as_secs()).unwrap_or(i64::MAX));
            (wait, format!("{who} asked for {seconds} s"))
        }
        _ => (wait, backoff.in_words(attempt, whose)),
    }
}

fn completed(held: &HeldJob, how: How, receipt: Option<Box<dyn Any + Send + Sync>>) -> CompletedJob {
    CompletedJob {
        id: held.id,
        app_id: held.app_id,
        integration_id: held.integration_id,
        job_type: held.job_type.clone(),
        record: held.record.clone(),
        how,
        receipt,
    }
}

/// Tried again after the schedule's wait, or a dead letter: at once, or after the last attempt.
pub(super) fn ending_of_failure(
    waits: &Waits,
    attempt: i16,
    max_attempts: i16,
    failure: Failure,
    random: f64,
) -> Ending {
    let Verdict::Retry { kind, .. } = failure.verdict else {
        return Ending::Dead {
            failure,
            attempt_outcome: AttemptOutcome::Failed,
            kind: ErrorKind::NotRetryable,
        };
    };
    let attempt_outcome =
        if kind == ErrorKind::Timeout { AttemptOutcome::TimedOut } else { AttemptOutcome::Failed };
    if attempt >= max_attempts {
        return Ending::Dead { failure, attempt_outcome, kind: ErrorKind::RetriesExceeded };
    }
    let (wait, wait_reason) = wait_after(waits, attempt, &failure, random);
    Ending::Retried { failure, attempt_outcome, wait, wait_reason }
}

/// A 429 is about the whole integration: for how long it asks for quiet.
fn quiet_asked_for(ending: &Ending) -> Option<Duration> {
    let (Ending::Retried { failure, .. } | Ending::Dead { failure, .. }) = ending else { return None };
    match failure.verdict {
        Verdict::Retry { at_least, holds_integration: true, .. } => at_least,
        _ => None,
    }
}

/// Nothing more is sent to the integration until then, by no process.
async fn hold(shared: &Shared, integration_id: IntegrationId, quiet: Duration) {
    shared.limiter.hold(integration_id, quiet);
    let hold = async {
        let mut transaction = shared.pool.begin().await?;
        lanes::hold_until(&mut transaction, integration_id, quiet).await?;
        transaction.commit().await.map_err(crate::QueueError::from)
    };
    let held = timeout(HOLD_PATIENCE, hold).await.unwrap_or_else(|_| Err(crate::QueueError::no_answer()));
    if let Err(error) = held {
        tracing::warn!(integration.id = %integration_id, %error, "integration {integration_id} is held by this process alone");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::{AttemptHandler, Handlers, lease::Moment, sample_job::plain};
    use futures::poll;
    use model::rules::backoff::Backoff;
    use std::{
        pin::pin,
        sync::atomic::{AtomicUsize, Ordering},
        task::Poll,
    };

    /// Counts how often it is called.
    #[derive(Default)]
    struct Counting(AtomicUsize);

    #[async_trait::async_trait]
    impl AttemptHandler for Counting {
        async fn run(&self, _: &HeldJob) -> Outcome {
            self.0.fetch_add(1, Ordering::Relaxed);
            Outcome::Completed { how: How::Done, response: None, result: None, receipt: None }
        }
    }

    /// One attempt that begins in a process whose lease has run out, as far as it knows.
    fn woken() -> (Arc<Counting>, Shared, Attempt) {
        let handler = Arc::new(Counting::default());
        let pool = sqlx::PgPool::connect_lazy("postgres://nobody.invalid").unwrap();
        let handlers = Handlers::new(Arc::clone(&handler) as Arc<dyn AttemptHandler>);
        let shared = Shared::new(pool, crate::EngineConfig::default(), handlers);
        let lease = shared.lease();
        let held =
            HeldJob::new(plain(), Duration::from_secs(3_600), Slots::unlimited(), Arc::new(Peers::new(1)));
        (handler, shared, Attempt::new(held, plain(), Slots::unlimited(), lease))
    }

    #[tokio::test]
    async fn who_slept_beyond_the_lease_calls_no_handler_before_a_heartbeat_has_renewed_it() {
        let (handler, shared, attempt) = woken();
        let mut running = pin!(run(&shared, &attempt));
        assert!(poll!(&mut running).is_pending());
        assert_eq!(handler.0.load(Ordering::Relaxed), 0);
        attempt.lease.grant(Moment::now(), Duration::from_secs(3_600));
        assert!(matches!(poll!(&mut running), Poll::Ready(Some((Ending::Completed { .. }, _)))));
        assert_eq!(handler.0.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn who_slept_and_finds_the_lease_lost_calls_no_handler_and_records_nothing() {
        let (handler, shared, attempt) = woken();
        let mut running = pin!(run(&shared, &attempt));
        assert!(poll!(&mut running).is_pending());
        shared.lose_lease();
        assert!(matches!(poll!(&mut running), Poll::Ready(None)));
        assert_eq!(handler.0.load(Ordering::Relaxed), 0);
    }

    fn failed_as(verdict: Verdict) -> Failure {
        Failure { verdict, message: "x".into(), response: None, sent_body: None, exchange: None }
    }

    #[test]
    fn a_failure_is_tried_again_until_the_last_attempt() {
        let retry = |kind, seconds: Option<u64>| Verdict::Retry {
            kind,
            at_least: seconds.map(Duration::from_secs),
            holds_integration: false,
        };
        let backoff = Backoff { jitter: 0.0, ..Backoff::default() };
        let waits = Waits { backoff, whose: "the retry schedule" };
        for (verdict, attempt, ends_as) in [
            (retry(ErrorKind::Retryable, None), 2, "retried 10s failed step 2 of the retry schedule"),
            (retry(ErrorKind::Timeout, None), 2, "retried 10s timed_out step 2 of the retry schedule"),
            (retry(ErrorKind::Retryable, Some(99)), 2, "retried 99s failed the handler asked for 99 s"),
            (retry(ErrorKind::Retryable, Some(1)), 2, "retried 10s failed step 2 of the retry schedule"),
            (retry(ErrorKind::Retryable, None), 10, "dead retries_exceeded failed"),
            (retry(ErrorKind::Timeout, None), 10, "dead retries_exceeded timed_out"),
            (Verdict::GiveUp { pauses_integration: false }, 1, "dead not_retryable failed"),
        ] {
            let ending = match ending_of_failure(&waits, attempt, 10, failed_as(verdict), 0.5) {
                Ending::Retried { attempt_outcome, wait, wait_reason, .. } => {
                    format!("retried {wait:?} {} {wait_reason}", attempt_outcome.as_str())
                }
                Ending::Dead { attempt_outcome, kind, .. } => {
                    format!("dead {} {}", kind.as_str(), attempt_outcome.as_str())
                }
                other => format!("{other:?}"),
            };
            assert_eq!(ending, ends_as, "{verdict:?}");
        }
    }
}
