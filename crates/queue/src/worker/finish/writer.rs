//! Gets a batch of ends recorded: as a whole, without those that are locked elsewhere, or in halves.
//!
//! A bad end must not spoil the rest of its batch. A batch that does not get a lock in time is written without the ends that wait for it; one that the
//! database aborts or refuses is halved until the bad end is alone. What happens to that depends on the error:
//!
//! - **Lock time-out** (55P03): the end waits (`locked_results`) for as long as it takes, and this never counts. Nothing is wrong with it, and
//!   recording it as a failure would repeat the job, and send again what it sent.
//! - **Deadlock or serialization failure** (40P01, 40001): a retry may succeed at once, and finally does, because our locks are taken in one order and
//!   foreign transactions end. It is tried `MAX_DEADLOCKS` times, some three minutes, because a trigger may raise the error for ever.
//! - **The transaction idled for too long** (`idle_in_transaction_timeout`): this process was stopped in the middle, or a handler's callback did
//!   something else than querying and finds its connection closed. It is tried [`MAX_IDLE_TRIES`] times, after all other ends, because each try takes
//!   that long.
//! - **Unique violation** (23505): it may have been a race, which a retry decides. It is tried `MAX_COLLISIONS` times, some two seconds.
//! - **Any other refusal**: no retry helps. A simpler end is tried at once, so that the job is not stuck.

use crate::error::QueueError;
use crate::store::jobs::Ending;
use crate::worker::finish::Finished;
use crate::worker::finish::callback_time::Failed;
use crate::worker::finish::finished::Detail;
use crate::worker::finish::races::{MAX_IDLE_TRIES, Races};
use crate::worker::finish::recorder::{Locks, Recorder};
use crate::worker::judge::{Schedules, ending_of_failure, failure};
use crate::worker::limit::AT_ONCE;
use crate::worker::state::{ClaimBatches, Results, WatchedLoop};
use model::rules::{halving::Halving, verdict::ErrorKind};
use std::sync::Arc;

/// Gets batches of ends recorded.
pub(crate) struct Writer {
    pub(crate) recorder: Recorder,
    pub(crate) schedules: Arc<Schedules>,
    pub(crate) batches: Arc<ClaimBatches>,
    pub(crate) results: Arc<Results>,
}

/// Whether a result could be made simpler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Simplified {
    Now,
    /// It was the simplest already.
    Already,
}

impl Writer {
    /// Records the ends that can be recorded; returns those to be retried later.
    pub(crate) async fn write(
        &self,
        watched: &WatchedLoop<'_>,
        batch: Vec<Finished>,
        locks: Locks,
    ) -> Vec<Finished> {
        let mut later = Vec::new();
        let mut parts = Halving::of([batch]);
        while let Some(mut part) = parts.next_part() {
            let mut tried = self.recorder.persist(watched, &mut part, locks).await;
            if part.len() > 1
                && locks != Locks::Skip
                && tried.as_ref().is_err_and(|failed| failed.error.is_lock_timeout())
            {
                tried = self.recorder.persist(watched, &mut part, Locks::Skip).await;
            }
            let Failed { error, was_idle } = match tried {
                Ok(locked) => {
                    later.extend(locked);
                    self.recorded(&part);
                    continue;
                }
                Err(failed) => failed,
            };
            if part.len() > 1 {
                tracing::debug!(%error, count = part.len(), "a batch of ends is repeated in halves");
            }
            let Some(mut one) = parts.halve(part) else { continue };
            let message = if was_idle {
                self.warn_idle(&one);
                if one.races.should_retry_idle() {
                    parts.try_last(vec![one]);
                    continue;
                }
                self.idle_message()
            } else if one.races.should_retry(&error) {
                later.push(one);
                continue;
            } else {
                "The result could not be stored.".to_owned()
            };
            match self.simplify(&mut one, &error, message) {
                Simplified::Now => parts.try_next(vec![one]),
                Simplified::Already => self.give_up(&one),
            }
        }
        later
    }

    fn recorded(&self, part: &[Finished]) {
        for finished in part {
            self.batches.job_done(finished.job.claim_batch_id);
        }
        if !part.is_empty() {
            self.results.note_recorded(part.len());
        }
    }

    fn give_up(&self, one: &Finished) {
        let id = one.job.id;
        tracing::error!(job.id = %id, "job {id} could not even be released: this is retried from time to time");
        self.batches.note_stuck(one.job.assignment_id, one.job.claim_batch_id);
        self.results.note_recorded(1);
    }

    /// The error of the failed attempt.
    fn idle_message(&self) -> String {
        let silence = self.recorder.idle_in_transaction_timeout;
        format!(
            "The result could not be stored: {MAX_IDLE_TRIES} times the handler let the transaction that records it idle for more than {silence:?}."
        )
    }

    fn warn_idle(&self, one: &Finished) {
        let (id, silence) = (one.job.id, self.recorder.idle_in_transaction_timeout);
        tracing::warn!(
            job.id = %id,
            job.type = %one.job.job_type,
            correlation_id = one.job.correlation_id,
            "the handler of {} let the transaction that records job {id} idle for more than {silence:?}: rolled back",
            one.job.job_type,
        );
    }

    /// Simplifies a result that cannot be stored, because the job must not stay this worker's for ever.
    fn simplify(&self, one: &mut Finished, error: &QueueError, message: String) -> Simplified {
        let id = one.job.id;
        tracing::error!(job.id = %id, error = %error.with_causes(), "the result of job {id} could not be stored");
        one.races = Races::default();
        one.done = None;
        match one.detail {
            Detail::Whole => {
                let failure = failure(ErrorKind::Retryable, message);
                let (attempt, max_attempts) = (one.job.attempt, one.job.max_attempts);
                let waits = self.schedules.cached_waits(one.job.integration_id);
                one.end.ending = ending_of_failure(&waits, attempt, max_attempts, failure, rand::random());
                one.detail = Detail::Failure;
            }
            Detail::Failure => {
                one.skips_handler = true;
                one.end.is_uncertain = one.uncertain.is_some();
                one.end.ending = Ending::Released { until: AT_ONCE };
                one.detail = Detail::Release;
            }
            Detail::Release => return Simplified::Already,
        }
        Simplified::Now
    }
}
