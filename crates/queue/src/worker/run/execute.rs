//! One attempt, from top to bottom: expired? → run (until its time-out or a cancel request, panics caught) → judge → hand to the finisher.

use crate::{
    store::{
        jobs::{AttemptEnd, ClaimedJob, Completion, Ending, Failure},
        lanes,
    },
    worker::{
        CompletedJob, LeasedJob, Outcome, Peers, Slots,
        finish::finisher::{Finished, Finisher},
        judge::schedules::{Waits, cached_waits, waits},
        lease::validity::Lease,
        limit::slots::AT_ONCE,
        run::attempts::Attempt,
        state::shared::Shared,
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

/// Writing an integration's quiet time to the database must not take for ever: this process keeps it in memory anyway.
const QUIET_WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs one claimed job, hands the result to the finisher, and always frees the slot.
pub(crate) async fn execute(
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
    let leased = LeasedJob::new(job, timeout, slots.clone(), peers).reporting_to(shared.pool.clone());
    let attempt = Arc::new(Attempt::new(leased, ticket, slots, lease));
    let ran = if is_expired {
        Some((Ending::Cancelled { why: "expired" }, None))
    } else {
        shared.attempts.add(&attempt);
        // Dropping a stopped attempt may panic too; the job must end and its slot become free all the same.
        let ran = AssertUnwindSafe(run(&shared, &attempt)).catch_unwind().await.unwrap_or_else(|panic| {
            judge(&shared, &attempt.job, failed(ErrorKind::Retryable, panicked(panic.as_ref())))
        });
        shared.attempts.remove(attempt.job.assignment_id);
        ran
    };
    let Some((ticket, uncertain)) = attempt.end() else { return returned_late(&shared, &attempt) };
    let assignment_id = ticket.assignment_id;
    match ran {
        Some((mut ending, done)) => {
            let duration = match &ending {
                Ending::Completed { response: Some(response), .. } => response.duration,
                _ => attempt.began_at.elapsed(),
            };
            if let Some(quiet) = quiet_asked_for(&ending) {
                // On the heap: every attempt would carry the room for it.
                Box::pin(make_quiet(&shared, ticket.integration_id, quiet)).await;
            }
            if matches!(ending, Ending::Retried { .. }) {
                Box::pin(schedule(&shared, &attempt.job, &mut ending)).await;
            }
            let end = AttemptEnd::of(&ticket, duration, ending);
            let is_echo = attempt.job.is_echo();
            finisher.record(Finished { is_echo, ..Finished::new(ticket, end, done, uncertain) });
        }
        // The lease is lost, so the job is another worker's by now, or soon: only what may have arrived is recorded.
        None => {
            shared.keep_batch(ticket.claim_batch_id);
            if uncertain.is_some() {
                finisher.record(Finished::of_a_lost_lease(ticket, uncertain));
            }
        }
    }
    shared.free_slot(assignment_id);
}

/// The handler returned after its time-out was recorded: its result is dropped, its thread is free again.
fn returned_late(shared: &Shared, attempt: &Attempt) {
    shared.attempts.remove_blocked();
    shared.slot_freed.notify_one();
    let (leased, late) = (&attempt.job, attempt.began_at.elapsed());
    tracing::warn!(
        job.id = %leased.id,
        job.type = %leased.job_type,
        "the handler of {} returned after {late:?}: its result for job {} is dropped",
        leased.job_type,
        leased.id,
    );
}

/// How an attempt ended, with the argument of `on_completed` for a completed job; none: the lease was lost, the job is another worker's.
type Ended = Option<(Ending, Option<CompletedJob>)>;

async fn run(shared: &Shared, attempt: &Attempt) -> Ended {
    let leased = &attempt.job;
    let handler = Arc::clone(shared.handlers.of(&leased.job_type));
    let handle = async {
        if !attempt.lease.is_valid() {
            // On the heap: every attempt would carry the room for it.
            let is_valid = leased.off_the_clock(Box::pin(attempt.lease.until_valid())).await;
            if !is_valid {
                // The `select` below returns for the lost lease.
                std::future::pending::<()>().await;
            }
        }
        handler.run(leased).await
    };
    let mut handled = std::pin::pin!(AssertUnwindSafe(handle).catch_unwind());
    let outcome = loop {
        tokio::select! {
            biased;
            () = attempt.lease.lost.cancelled() => return None,
            result = &mut handled => break result.unwrap_or_else(|panic| failed(ErrorKind::Retryable, panicked(panic.as_ref()))),
            // After the handler's result in this biased `select`: what it has done by now is what happened.
            () = attempt.cancelled() => return Some((Ending::Cancelled { why: "cancelled" }, None)),
            () = shared.release_running.cancelled() => break Outcome::Released { until: AT_ONCE },
            () = tokio::time::sleep_until(attempt.deadline()) => {
                if attempt.deadline() <= Instant::now() {
                    break failed(ErrorKind::Timeout, format!("The attempt took longer than {:?}.", leased.timeout));
                }
            }
        }
    };
    judge(shared, leased, outcome)
}

/// A failure found by the engine itself.
pub(crate) fn failure(kind: ErrorKind, message: String) -> Failure {
    let verdict = Verdict::Retry { kind, at_least: None, quiets_integration: false };
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

fn judge(shared: &Shared, leased: &LeasedJob, outcome: Outcome) -> Ended {
    match outcome {
        Outcome::Completed { how, response, result, receipt } => {
            let done = completed(leased, how, receipt);
            Some((Ending::Completed { how, response, result }, Some(done)))
        }
        Outcome::Released { until } => Some((Ending::Released { until }, None)),
        Outcome::Failed { error } => Some((ending_of(shared, leased, error), None)),
    }
}

pub(crate) fn ending_of(shared: &Shared, leased: &LeasedJob, error: Failure) -> Ending {
    let waits = cached_waits(shared, leased.integration_id);
    ending_of_failure(&waits, leased.attempt, leased.max_attempts, error, leased.jitter())
}

/// Sets the wait of a retry by the integration's current schedule.
async fn schedule(shared: &Shared, leased: &LeasedJob, ending: &mut Ending) {
    let Ending::Retried { failure, wait, wait_reason, .. } = ending else { return };
    let waits = waits(shared, leased.integration_id).await;
    (*wait, *wait_reason) = wait_after(&waits, leased.attempt, failure, leased.jitter());
}

fn wait_after(waits: &Waits, attempt: i16, failure: &Failure, random: f64) -> (Duration, String) {
    let Waits { backoff, source } = waits;
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
        _ => (wait, backoff.in_words(attempt, source)),
    }
}

fn completed(
    leased: &LeasedJob,
    how: Completion,
    receipt: Option<Box<dyn Any + Send + Sync>>,
) -> CompletedJob {
    CompletedJob {
        id: leased.id,
        app_id: leased.app_id,
        integration_id: leased.integration_id,
        job_type: leased.job_type.clone(),
        record: leased.record.clone(),
        how,
        receipt,
    }
}

/// A retry after the schedule's wait, or a dead letter: at once, or after the last attempt.
pub(crate) fn ending_of_failure(
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

/// A 429 concerns the whole integration: for how long nothing is to be sent.
fn quiet_asked_for(ending: &Ending) -> Option<Duration> {
    let (Ending::Retried { failure, .. } | Ending::Dead { failure, .. }) = ending else { return None };
    match failure.verdict {
        Verdict::Retry { at_least, quiets_integration: true, .. } => at_least,
        _ => None,
    }
}

/// Makes the integration quiet: no process sends anything to it for this long.
async fn make_quiet(shared: &Shared, integration_id: IntegrationId, quiet: Duration) {
    shared.limiter.set_quiet(integration_id, quiet);
    let write = async {
        let mut transaction = shared.pool.begin().await?;
        lanes::set_quiet(&mut transaction, integration_id, quiet).await?;
        transaction.commit().await.map_err(crate::QueueError::from)
    };
    let written =
        timeout(QUIET_WRITE_TIMEOUT, write).await.unwrap_or_else(|_| Err(crate::QueueError::no_answer()));
    if let Err(error) = written {
        tracing::warn!(integration.id = %integration_id, %error, "integration {integration_id} is quiet in this process only");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::{AttemptHandler, Handlers, lease::validity::Moment, sample_job::plain};
    use futures::poll;
    use model::rules::backoff::Backoff;
    use std::{
        pin::pin,
        sync::atomic::{AtomicUsize, Ordering},
        task::Poll,
    };

    #[derive(Default)]
    struct Counting(AtomicUsize);

    #[async_trait::async_trait]
    impl AttemptHandler for Counting {
        async fn run(&self, _: &LeasedJob) -> Outcome {
            self.0.fetch_add(1, Ordering::Relaxed);
            Outcome::Completed { how: Completion::Done, response: None, result: None, receipt: None }
        }
    }

    /// An attempt that starts in a process that cannot rely on its lease.
    fn woken() -> (Arc<Counting>, Shared, Attempt) {
        let handler = Arc::new(Counting::default());
        let pool = sqlx::PgPool::connect_lazy("postgres://nobody.invalid").unwrap();
        let handlers = Handlers::new(Arc::clone(&handler) as Arc<dyn AttemptHandler>);
        let shared = Shared::new(pool, crate::EngineConfig::default(), handlers);
        let lease = shared.lease();
        let leased =
            LeasedJob::new(plain(), Duration::from_secs(3_600), Slots::unlimited(), Arc::new(Peers::new(1)));
        (handler, shared, Attempt::new(leased, plain(), Slots::unlimited(), lease))
    }

    #[tokio::test]
    async fn a_process_suspended_beyond_its_lease_calls_no_handler_before_a_heartbeat_renews_it() {
        let (handler, shared, attempt) = woken();
        let mut running = pin!(run(&shared, &attempt));
        assert!(poll!(&mut running).is_pending());
        assert_eq!(handler.0.load(Ordering::Relaxed), 0);
        attempt.lease.grant(Moment::now(), Duration::from_secs(3_600));
        assert!(matches!(poll!(&mut running), Poll::Ready(Some((Ending::Completed { .. }, _)))));
        assert_eq!(handler.0.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn a_process_that_finds_its_lease_lost_calls_no_handler_and_records_nothing() {
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
    fn a_failure_is_retried_until_the_last_attempt() {
        let retry = |kind, seconds: Option<u64>| Verdict::Retry {
            kind,
            at_least: seconds.map(Duration::from_secs),
            quiets_integration: false,
        };
        let backoff = Backoff { jitter: 0.0, ..Backoff::default() };
        let waits = Waits { backoff, source: "the retry schedule" };
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
