//! Gets a batch of ends recorded: as a whole, without what is held elsewhere, or in halves.
//!
//! Nothing good is spoilt by its company. A batch that does not get a lock in time is written without the ends it waits for; one that the
//! database breaks off or refuses is halved until the one end is found. What that end becomes depends on what the database said:
//!
//! - **It did not give a lock** (55P03): the end waits (`held_results`), for as long as it takes. Nothing is wrong with it, and whoever made it a
//!   failure would do its job again, so that what was sent is sent twice. That never counts.
//! - **It broke it off for another's sake** (a deadlock, 40P01 or 40001): the same again may succeed at once, and in the end it does: all our locks are
//!   taken in one order, and a stranger's transaction ends. [`BROKEN_OFF`] times, some three minutes, because a trigger may say it for ever.
//! - **It heard nothing for too long** (`longest_silence`), because this process was stopped in the middle, or because a handler that was told of the
//!   end did something else than asking the database, whose connection it finds closed then: [`SILENCES`] times. Other ends go first, because each
//!   of these takes that long.
//! - **A unique row was there** (23505): that may have been a race, which the next look decides; [`COLLISIONS`] times, some two seconds.
//! - **It refused it** (anything else): no repetition helps. A plainer end is tried at once, so that the job is not stuck with it.

use crate::{
    error::{QueueError, code},
    store::jobs::Ending,
    worker::{
        execute::{ending_of_failure, failure},
        finisher::Finished,
        recording::{Failed, Locks, persist},
        schedules::known_waits,
        shared::Shared,
        slots::AT_ONCE,
        watchdog::Pulse,
    },
};
use model::rules::verdict::ErrorKind;

/// How often one end may be broken off until it is tried to be a plainer one.
const BROKEN_OFF: u32 = 100;
/// How often it may meet a row that is there already.
const COLLISIONS: u32 = 15;
/// How often its handler may keep the database waiting for too long.
const SILENCES: u32 = 5;

/// Races an end has lost, since it was last made plainer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Races {
    broken_off: u32,
    collisions: u32,
    silences: u32,
}

impl Races {
    /// Takes note of what the database said of this end alone; whether the same end is to be tried again.
    pub(super) fn go_on(&mut self, error: &QueueError) -> bool {
        let QueueError::Database(error) = error else { return false };
        match code(error).as_deref() {
            Some("55P03") => true,
            Some("40P01" | "40001") => {
                self.broken_off += 1;
                self.broken_off <= BROKEN_OFF
            }
            Some("23505") => {
                self.collisions += 1;
                self.collisions <= COLLISIONS
            }
            _ => false,
        }
    }

    /// Takes note that the handler that is told of this end alone kept the database waiting; whether it is to be told again.
    fn go_on_after_silence(&mut self) -> bool {
        self.silences += 1;
        self.silences < SILENCES
    }
}

/// Records what can be; answers what is to be tried again later.
pub(super) async fn write(
    shared: &Shared,
    pulse: &Pulse<'_>,
    batch: Vec<Finished>,
    locks: Locks,
) -> Vec<Finished> {
    let mut later = Vec::new();
    let mut parts = vec![batch];
    while let Some(mut part) = parts.pop() {
        let mut tried = persist(shared, pulse, &mut part, locks).await;
        if part.len() > 1
            && locks != Locks::Pass
            && tried.as_ref().is_err_and(|failed| failed.error.waited_for_a_lock())
        {
            tried = persist(shared, pulse, &mut part, Locks::Pass).await;
        }
        match tried {
            Ok(held) => {
                later.extend(held);
                recorded(shared, &part);
            }
            Err(Failed { error, .. }) if part.len() > 1 => {
                tracing::debug!(%error, count = part.len(), "a batch of ends is repeated in halves");
                let rest = part.split_off(part.len() / 2);
                parts.extend([rest, part]);
            }
            Err(Failed { is_silence: true, error }) => {
                let Some(mut one) = part.pop() else { continue };
                say_silent(shared, &one);
                if one.races.go_on_after_silence() {
                    parts.insert(0, vec![one]);
                } else if make_plainer(shared, &mut one, &error, &unheard(shared)) {
                    parts.push(vec![one]);
                } else {
                    recorded_not_at_all(shared, &one);
                }
            }
            Err(Failed { error, .. }) => {
                let Some(mut one) = part.pop() else { continue };
                if one.races.go_on(&error) {
                    later.push(one);
                } else if make_plainer(shared, &mut one, &error, "The result could not be stored.") {
                    parts.push(vec![one]);
                } else {
                    recorded_not_at_all(shared, &one);
                }
            }
        }
    }
    later
}

fn recorded(shared: &Shared, part: &[Finished]) {
    for finished in part {
        shared.settle(finished.job.claim_batch_id);
    }
    if !part.is_empty() {
        shared.note_recorded(part.len());
    }
}

fn recorded_not_at_all(shared: &Shared, one: &Finished) {
    let id = one.job.id;
    tracing::error!(job.id = %id, "job {id} could not even be given back: it is tried again from time to time");
    shared.note_stuck(one.job.assignment_id, one.job.claim_batch_id);
    shared.note_recorded(1);
}

/// As the failed attempt reads.
fn unheard(shared: &Shared) -> String {
    let silence = shared.config.longest_silence;
    format!(
        "The result could not be stored: {SILENCES} times its handler kept the database waiting for more than {silence:?} while it was told of the \
         end."
    )
}

fn say_silent(shared: &Shared, one: &Finished) {
    let (id, silence) = (one.job.id, shared.config.longest_silence);
    tracing::warn!(
        job.id = %id,
        job.type = %one.job.job_type,
        correlation_id = one.job.correlation_id,
        "the handler of {} kept the database waiting for more than {silence:?} while it was told of the end of job {id}: that is undone",
        one.job.job_type,
    );
}

/// How much of a result is tried to be stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Plainness {
    /// As it is.
    #[default]
    Whole,
    /// A failure that says that it could not be.
    Failure,
    /// The job goes back, and nothing is said.
    Release,
}

/// A result that cannot be stored becomes one that can: whatever is wrong, the job must not stay ours for ever. False when it was the plainest.
fn make_plainer(shared: &Shared, one: &mut Finished, error: &QueueError, message: &str) -> bool {
    let id = one.job.id;
    let source = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(job.id = %id, %error, source, "the result of job {id} could not be stored");
    one.races = Races::default();
    one.done = None;
    match one.plainness {
        Plainness::Whole => {
            let failure = failure(ErrorKind::Retryable, message.to_owned());
            let (attempt, max_attempts) = (one.job.attempt, one.job.max_attempts);
            let waits = known_waits(shared, one.job.integration_id);
            one.end.ending = ending_of_failure(&waits, attempt, max_attempts, failure, rand::random());
            one.plainness = Plainness::Failure;
        }
        Plainness::Failure => {
            one.is_bare = true;
            one.end.is_doubtful = one.doubt.is_some();
            one.end.ending = Ending::Released { until: AT_ONCE };
            one.plainness = Plainness::Release;
        }
        Plainness::Release => return false,
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
    fn a_lock_that_is_not_given_never_counts_and_what_is_refused_is_not_repeated() {
        for (said, times) in
            [("55P03", None), ("40P01", Some(BROKEN_OFF)), ("23505", Some(COLLISIONS)), ("23514", Some(0))]
        {
            let mut races = Races::default();
            let gone_on = (0..10_000).position(|_| !races.go_on(&QueueError::Database(Said(said).into())));
            assert_eq!(gone_on.and_then(|times| u32::try_from(times).ok()), times, "{said}");
        }
    }
}
