//! One attempt, from top to bottom: expired? → run (until its time-out or a cancel request, panics caught) → judge → hand to the finisher.

use crate::error::panic_message;
use crate::store::jobs::{AttemptEnd, ClaimedJob, Completion, Ending, Failure};
use crate::worker::finish::{Finished, Finisher};
use crate::worker::handler::{CompletedJob, Handlers, LeasedJob, Outcome, Peers};
use crate::worker::judge::{Schedules, ending_of_failure, failure, wait_after};
use crate::worker::lease::Lease;
use crate::worker::limit::{AT_ONCE, Limiter, Slots};
use crate::worker::run::{Attempt, Attempts};
use crate::worker::state::{ClaimBatches, RunningJobs};
use futures::FutureExt as _;
use model::rules::cause::no_answer_within;
use model::rules::verdict::{ErrorKind, Verdict};
use sqlx::PgPool;
use std::{any::Any, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Makes the attempts of one engine.
pub(crate) struct AttemptRunner {
    pub(crate) pool: PgPool,
    pub(crate) handlers: Handlers,
    /// Of jobs that have no time-out of their own.
    pub(crate) timeout: Duration,
    pub(crate) limiter: Arc<Limiter>,
    pub(crate) schedules: Arc<Schedules>,
    pub(crate) attempts: Arc<Attempts>,
    pub(crate) running: Arc<RunningJobs>,
    pub(crate) batches: Arc<ClaimBatches>,
    /// The grace time is over: running jobs are stopped and released.
    pub(crate) release_running: CancellationToken,
    pub(crate) finisher: Finisher,
}

impl AttemptRunner {
    /// Releases a claimed job without an attempt.
    pub(crate) fn release(&self, job: ClaimedJob) {
        let end = AttemptEnd::of(&job, Duration::ZERO, Ending::Released { until: AT_ONCE });
        self.running.free_slot(job.assignment_id);
        self.finisher.record(Finished::new(job, end, None, None));
    }

    /// Runs one claimed job, hands the result to the finisher, and always frees the slot.
    pub(crate) async fn execute(self: Arc<Self>, mut job: ClaimedJob, peers: Arc<Peers>, lease: Arc<Lease>) {
        let payload = job.payload.take();
        let ticket = job.clone();
        job.payload = payload;
        let is_expired = job.is_expired;
        let timeout =
            job.timeout_ms.and_then(|ms| u64::try_from(ms).ok()).map_or(self.timeout, Duration::from_millis);
        let slots = Slots::of(Arc::clone(&self.limiter), job.is_limited, Arc::clone(&lease));
        let leased = LeasedJob::new(job, timeout, slots.clone(), peers).reporting_to(self.pool.clone());
        let attempt = Arc::new(Attempt::new(leased, ticket, slots, lease));
        let ran = if is_expired {
            Some((Ending::Cancelled { why: "expired" }, None))
        } else {
            self.attempts.add(&attempt);
            // Dropping a stopped attempt may panic too; the job must end and its slot become free all the same.
            let ran = AssertUnwindSafe(self.run(&attempt)).catch_unwind().await.unwrap_or_else(|panic| {
                self.judge(&attempt.job, failed(ErrorKind::Retryable, panicked(panic.as_ref())))
            });
            self.attempts.remove(attempt.job.assignment_id);
            ran
        };
        let Some((ticket, uncertain)) = attempt.end() else { return self.returned_late(&attempt) };
        let assignment_id = ticket.assignment_id;
        match ran {
            Some((mut ending, done)) => {
                let duration = match &ending {
                    Ending::Completed { response: Some(response), .. } => response.duration,
                    _ => attempt.began_at.elapsed(),
                };
                if let Some(quiet) = quiet_asked_for(&ending) {
                    // On the heap: every attempt would carry the room for it.
                    Box::pin(self.limiter.make_quiet(ticket.integration_id, quiet)).await;
                }
                if matches!(ending, Ending::Retried { .. }) {
                    Box::pin(self.schedule(&attempt.job, &mut ending)).await;
                }
                let end = AttemptEnd::of(&ticket, duration, ending);
                let is_echo = attempt.job.is_echo();
                self.finisher.record(Finished { is_echo, ..Finished::new(ticket, end, done, uncertain) });
            }
            // The lease is lost, so the job is another worker's by now, or soon: only what may have arrived is recorded.
            None => {
                self.batches.keep(ticket.claim_batch_id);
                if uncertain.is_some() {
                    self.finisher.record(Finished::of_a_lost_lease(ticket, uncertain));
                }
            }
        }
        self.running.free_slot(assignment_id);
    }

    /// The handler returned after its time-out was recorded: its result is dropped, its thread is free again.
    fn returned_late(&self, attempt: &Attempt) {
        self.attempts.remove_blocked();
        self.running.note_left();
        let (leased, late) = (&attempt.job, attempt.began_at.elapsed());
        tracing::warn!(
            job.id = %leased.id,
            job.type = %leased.job_type,
            "the handler of {} returned after {late:?}: its result for job {} is dropped",
            leased.job_type,
            leased.id,
        );
    }

    async fn run(&self, attempt: &Attempt) -> Ended {
        let leased = &attempt.job;
        let handler = Arc::clone(self.handlers.of(&leased.job_type));
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
                () = self.release_running.cancelled() => break Outcome::Released { until: AT_ONCE },
                () = tokio::time::sleep_until(attempt.deadline()) => {
                    if attempt.deadline() <= Instant::now() {
                        break failed(ErrorKind::Timeout, no_answer_within(leased.timeout));
                    }
                }
            }
        };
        self.judge(leased, outcome)
    }

    fn judge(&self, leased: &LeasedJob, outcome: Outcome) -> Ended {
        match outcome {
            Outcome::Completed { how, response, result, receipt } => {
                let done = completed(leased, how, receipt);
                Some((Ending::Completed { how, response, result }, Some(done)))
            }
            Outcome::Released { until } => Some((Ending::Released { until }, None)),
            Outcome::Failed { error } => Some((ending_of(&self.schedules, leased, error), None)),
        }
    }

    /// Sets the wait of a retry by the integration's current schedule.
    async fn schedule(&self, leased: &LeasedJob, ending: &mut Ending) {
        let Ending::Retried { failure, wait, wait_reason, .. } = ending else { return };
        let waits = self.schedules.waits(leased.integration_id).await;
        (*wait, *wait_reason) = wait_after(&waits, leased.attempt, failure, leased.jitter());
    }
}

/// How an attempt ended, with the argument of `on_completed` for a completed job; none: the lease was lost, the job is another worker's.
type Ended = Option<(Ending, Option<CompletedJob>)>;

/// What follows a failure, with the waits that are known without a query.
pub(super) fn ending_of(schedules: &Schedules, leased: &LeasedJob, error: Failure) -> Ending {
    let waits = schedules.cached_waits(leased.integration_id);
    ending_of_failure(&waits, leased.attempt, leased.max_attempts, error, leased.jitter())
}

fn failed(kind: ErrorKind, message: String) -> Outcome {
    Outcome::Failed { error: failure(kind, message) }
}

fn panicked(panic: &(dyn Any + Send)) -> String {
    format!("The handler panicked: {}", panic_message(panic))
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

/// A 429 concerns the whole integration: for how long nothing is to be sent.
fn quiet_asked_for(ending: &Ending) -> Option<Duration> {
    let (Ending::Retried { failure, .. } | Ending::Dead { failure, .. }) = ending else { return None };
    match failure.verdict {
        Verdict::Retry { at_least, quiets_integration: true, .. } => at_least,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::{handler::AttemptHandler, lease::Moment, run::idle_runner, sample_job::plain};
    use futures::poll;
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Poll;

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
    fn woken() -> (Arc<Counting>, AttemptRunner, Attempt) {
        let handler = Arc::new(Counting::default());
        let runner = idle_runner(Handlers::new(Arc::clone(&handler) as Arc<dyn AttemptHandler>));
        let lease = Arc::new(Lease::new());
        let leased = LeasedJob::unlimited(plain(), Duration::from_secs(3_600));
        (handler, runner, Attempt::new(leased, plain(), Slots::default(), lease))
    }

    #[tokio::test]
    async fn a_process_suspended_beyond_its_lease_calls_no_handler_before_a_heartbeat_renews_it() {
        let (handler, runner, attempt) = woken();
        let mut running = pin!(runner.run(&attempt));
        assert!(poll!(&mut running).is_pending());
        assert_eq!(handler.0.load(Ordering::Relaxed), 0);
        attempt.lease.grant(Moment::now(), Duration::from_secs(3_600));
        assert!(matches!(poll!(&mut running), Poll::Ready(Some((Ending::Completed { .. }, _)))));
        assert_eq!(handler.0.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn a_process_that_finds_its_lease_lost_calls_no_handler_and_records_nothing() {
        let (handler, runner, attempt) = woken();
        let mut running = pin!(runner.run(&attempt));
        assert!(poll!(&mut running).is_pending());
        attempt.lease.lose();
        assert!(matches!(poll!(&mut running), Poll::Ready(None)));
        assert_eq!(handler.0.load(Ordering::Relaxed), 0);
    }
}
