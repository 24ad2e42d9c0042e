//! Gets a batch of ends recorded: as a whole, without those that are locked elsewhere, or in halves.
//!
//! A bad end must not spoil the rest of its batch. A batch that does not get a lock in time is written without the ends that wait for it; one that the
//! database aborts or refuses is halved until the bad end is alone. What happens to that depends on the error:
//!
//! - **Lock time-out** (55P03): the end waits (`locked_results`) for as long as it takes, and this never counts. Nothing is wrong with it, and
//!   recording it as a failure would repeat the job, and send again what it sent.
//! - **Deadlock or serialization failure** (40P01, 40001): a retry may succeed at once, and finally does, because our locks are taken in one order and
//!   foreign transactions end. It is tried [`MAX_DEADLOCKS`] times, some three minutes, because a trigger may raise the error for ever.
//! - **The transaction idled for too long** (`idle_in_transaction_timeout`): this process was stopped in the middle, or a handler's callback did
//!   something else than querying and finds its connection closed. It is tried [`MAX_IDLE_TRIES`] times, after all other ends, because each try takes
//!   that long.
//! - **Unique violation** (23505): it may have been a race, which a retry decides. It is tried [`MAX_COLLISIONS`] times, some two seconds.
//! - **Any other refusal**: no retry helps. A simpler end is tried at once, so that the job is not stuck.

use crate::{
    error::{QueueError, code},
    store::jobs::Ending,
    worker::{
        finish::finisher::Finished,
        finish::recording::{Failed, Locks, persist},
        judge::schedules::cached_waits,
        limit::slots::AT_ONCE,
        run::execute::{ending_of_failure, failure},
        state::shared::Shared,
        state::watchdog::WatchedLoop,
    },
};
use model::rules::verdict::ErrorKind;

/// Deadlocks and serialization failures of one end before a simpler one is tried.
const MAX_DEADLOCKS: u32 = 100;
/// Unique violations before that.
const MAX_COLLISIONS: u32 = 15;
/// Idle transactions before that.
const MAX_IDLE_TRIES: u32 = 5;

/// Failed tries of an end, since it was last simplified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Races {
    deadlocks: u32,
    collisions: u32,
    idle_tries: u32,
}

impl Races {
    /// Counts an error of a transaction with this end alone; true if the same end is to be retried.
    pub(crate) fn should_retry(&mut self, error: &QueueError) -> bool {
        let QueueError::Database(error) = error else { return false };
        match code(error).as_deref() {
            Some("55P03") => true,
            Some("40P01" | "40001") => {
                self.deadlocks += 1;
                self.deadlocks <= MAX_DEADLOCKS
            }
            Some("23505") => {
                self.collisions += 1;
                self.collisions <= MAX_COLLISIONS
            }
            _ => false,
        }
    }

    /// Counts a handler that let the transaction of this end alone idle; true if it is to be retried.
    fn should_retry_idle(&mut self) -> bool {
        self.idle_tries += 1;
        self.idle_tries < MAX_IDLE_TRIES
    }
}

/// Records the ends that can be recorded; returns those to be retried later.
pub(crate) async fn write(
    shared: &Shared,
    watched: &WatchedLoop<'_>,
    batch: Vec<Finished>,
    locks: Locks,
) -> Vec<Finished> {
    let mut later = Vec::new();
    let mut parts = vec![batch];
    while let Some(mut part) = parts.pop() {
        let mut tried = persist(shared, watched, &mut part, locks).await;
        if part.len() > 1
            && locks != Locks::Skip
            && tried.as_ref().is_err_and(|failed| failed.error.is_lock_timeout())
        {
            tried = persist(shared, watched, &mut part, Locks::Skip).await;
        }
        match tried {
            Ok(locked) => {
                later.extend(locked);
                recorded(shared, &part);
            }
            Err(Failed { error, .. }) if part.len() > 1 => {
                tracing::debug!(%error, count = part.len(), "a batch of ends is repeated in halves");
                let rest = part.split_off(part.len() / 2);
                parts.extend([rest, part]);
            }
            Err(Failed { was_idle: true, error }) => {
                let Some(mut one) = part.pop() else { continue };
                warn_idle(shared, &one);
                if one.races.should_retry_idle() {
                    parts.insert(0, vec![one]);
                } else if simplify(shared, &mut one, &error, &idle_message(shared)) {
                    parts.push(vec![one]);
                } else {
                    give_up(shared, &one);
                }
            }
            Err(Failed { error, .. }) => {
                let Some(mut one) = part.pop() else { continue };
                if one.races.should_retry(&error) {
                    later.push(one);
                } else if simplify(shared, &mut one, &error, "The result could not be stored.") {
                    parts.push(vec![one]);
                } else {
                    give_up(shared, &one);
                }
            }
        }
    }
    later
}

fn recorded(shared: &Shared, part: &[Finished]) {
    for finished in part {
        shared.batch_job_done(finished.job.claim_batch_id);
    }
    if !part.is_empty() {
        shared.note_recorded(part.len());
    }
}

fn give_up(shared: &Shared, one: &Finished) {
    let id = one.job.id;
    tracing::error!(job.id = %id, "job {id} could not even be released: this is retried from time to time");
    shared.note_stuck(one.job.assignment_id, one.job.claim_batch_id);
    shared.note_recorded(1);
}

/// The error of the failed attempt.
fn idle_message(shared: &Shared) -> String {
    let silence = shared.config.idle_in_transaction_timeout;
    format!(
        "The result could not be stored: {MAX_IDLE_TRIES} times the handler let the transaction that records it idle for more than {silence:?}."
    )
}

fn warn_idle(shared: &Shared, one: &Finished) {
    let (id, silence) = (one.job.id, shared.config.idle_in_transaction_timeout);
    tracing::warn!(
        job.id = %id,
        job.type = %one.job.job_type,
        correlation_id = one.job.correlation_id,
        "the handler of {} let the transaction that records job {id} idle for more than {silence:?}: rolled back",
        one.job.job_type,
    );
}

/// What is recorded of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Detail {
    #[default]
    Whole,
    /// A failure with the error that the result could not be stored.
    Failure,
    /// The job is released, and no handler is called.
    Release,
}

/// Simplifies a result that cannot be stored, because the job must not stay this worker's for ever. False if it was the simplest already.
fn simplify(shared: &Shared, one: &mut Finished, error: &QueueError, message: &str) -> bool {
    let id = one.job.id;
    let source = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(job.id = %id, %error, source, "the result of job {id} could not be stored");
    one.races = Races::default();
    one.done = None;
    match one.detail {
        Detail::Whole => {
            let failure = failure(ErrorKind::Retryable, message.to_owned());
            let (attempt, max_attempts) = (one.job.attempt, one.job.max_attempts);
            let waits = cached_waits(shared, one.job.integration_id);
            one.end.ending = ending_of_failure(&waits, attempt, max_attempts, failure, rand::random());
            one.detail = Detail::Failure;
        }
        Detail::Failure => {
            one.skips_handler = true;
            one.end.is_uncertain = one.uncertain.is_some();
            one.end.ending = Ending::Released { until: AT_ONCE };
            one.detail = Detail::Release;
        }
        Detail::Release => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlx::error::{DatabaseError, ErrorKind};
    use std::{borrow::Cow, error::Error, fmt};

    #[derive(Debug)]
    struct Said(&'static str);

    impl fmt::Display for Said {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Said {}

    impl DatabaseError for Said {
        fn message(&self) -> &str {
            self.0
        }

        fn code(&self) -> Option<Cow<'_, str>> {
            Some(self.0.into())
        }

        fn as_error(&self) -> &(dyn Error + Send + Sync + 'static) {
            self
        }

        fn as_error_mut(&mut self) -> &mut (dyn Error + Send + Sync + 'static) {
            self
        }

        fn into_error(self: Box<Self>) -> Box<dyn Error + Send + Sync + 'static> {
            self
        }

        fn kind(&self) -> ErrorKind {
            ErrorKind::Other
        }
    }

    #[test]
    fn a_lock_time_out_never_counts_and_a_refusal_is_not_retried() {
        for (said, times) in [
            ("55P03", None),
            ("40P01", Some(MAX_DEADLOCKS)),
            ("23505", Some(MAX_COLLISIONS)),
            ("23514", Some(0)),
        ] {
            let mut races = Races::default();
            let gone_on =
                (0..10_000).position(|_| !races.should_retry(&QueueError::Database(Said(said).into())));
            assert_eq!(gone_on.and_then(|times| u32::try_from(times).ok()), times, "{said}");
        }
    }
}
