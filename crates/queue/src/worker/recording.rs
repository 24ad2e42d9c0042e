//! One transaction that records ends, repeated while the database is away.

use crate::{
    error::QueueError,
    store::{
        jobs::{Applied, BEGIN, End, finish, held_elsewhere},
        partitions,
    },
    worker::{finisher::Finished, shared::Shared, tell, watchdog::Pulse},
};
use sqlx::AssertSqlSafe;
use std::{collections::HashSet, sync::OnceLock, time::Duration};
use tokio::time::{Instant, error::Elapsed, timeout};

/// One transaction has this long; afterwards the connection is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// One transaction, a missing partition made, and the pause behind it: whoever is silent for longer has stopped.
pub(super) const LONGEST_TRY: Duration = Duration::from_secs(120);

/// While the database is away.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How often what came too late is tried to be noted when the database refuses it, or the handler keeps it waiting.
const TRIES: u32 = 5;
/// Between two of them.
const BEFORE_ANOTHER: Duration = Duration::from_millis(3);

/// What is done about rows that other transactions hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Locks {
    /// They are waited for a moment, as everyone's are that commit at once.
    Wait,
    /// Nothing is waited for: what is held is left out.
    Pass,
    /// Waited for longer: a row that many fold into in turns is given to whoever stands in line, not to whoever looks by.
    Queue,
}

/// Why a batch was not recorded.
#[derive(Debug)]
pub(super) struct Failed {
    /// What the database said, or that it said nothing.
    pub(super) error: QueueError,
    /// A handler kept the database waiting for too long.
    pub(super) is_silence: bool,
}

/// How long handlers were told in one transaction. Whoever has kept the database waiting for the next statement for too long finds the
/// connection closed, which looks as if the database were away, or does not come back at all; but then it is the handler that has to end.
#[derive(Default)]
struct Telling {
    since: OnceLock<Instant>,
    took: OnceLock<Duration>,
}

impl Telling {
    async fn measure<T>(&self, told: impl Future<Output = T>) -> T {
        let since = *self.since.get_or_init(Instant::now);
        let answer = told.await;
        self.took.get_or_init(|| since.elapsed());
        answer
    }

    fn took(&self) -> Duration {
        let under_way = || self.since.get().map(Instant::elapsed).unwrap_or_default();
        self.took.get().copied().unwrap_or_else(under_way)
    }

    fn judge(&self, shared: &Shared, error: QueueError) -> Failed {
        let is_broken_off = error.is_unavailable() && !error.wants_partition();
        Failed { is_silence: is_broken_off && self.took() >= shared.config.longest_silence, error }
    }
}

/// Writes a batch, however long the database is away; what was left out comes back, and `batch` is the rest.
pub(super) async fn persist(
    shared: &Shared,
    pulse: &Pulse<'_>,
    batch: &mut Vec<Finished>,
    locks: Locks,
) -> Result<Vec<Finished>, Failed> {
    let mut pause = FIRST_PAUSE;
    let mut held = Vec::new();
    let applied = loop {
        pulse.within(LONGEST_TRY);
        // Of a try that failed.
        batch.append(&mut held);
        let telling = Telling::default();
        let answer = timeout(PATIENCE, transaction(shared, batch, &mut held, locks, &telling)).await;
        match unless_away(shared, answer, &telling, &mut pause).await {
            Some(Ok(applied)) => break applied,
            Some(Err(error)) => {
                batch.append(&mut held);
                return Err(error);
            }
            None => {}
        }
    };
    let recorded = batch.iter().zip(&applied).filter(|(_, applied)| applied.is_recorded());
    shared.latencies.note(recorded.map(|(finished, _)| finished));
    let late: Vec<usize> = (0..batch.len())
        .filter(|at| !applied.get(*at).is_some_and(|applied| applied.is_recorded()))
        .collect();
    let mut not_yet = HashSet::new();
    for at in late {
        let id = batch[at].end.job_id;
        if !std::mem::replace(&mut batch[at].is_late, true) {
            let correlation_id = &batch[at].job.correlation_id;
            tracing::info!(job.id = %id, correlation_id, applied = ?applied.get(at), "the result of job {id} came too late");
        }
        if !remember(shared, pulse, &mut batch[at], locks).await {
            not_yet.insert(at);
        }
    }
    held.extend(take_out(batch, &not_yet));
    Ok(held)
}

/// Those at these places.
fn take_out(batch: &mut Vec<Finished>, places: &HashSet<usize>) -> Vec<Finished> {
    let mut at = 0;
    let is_one = |_: &mut Finished| {
        at += 1;
        places.contains(&(at - 1))
    };
    batch.extract_if(.., is_one).collect()
}

async fn transaction(
    shared: &Shared,
    batch: &mut Vec<Finished>,
    held: &mut Vec<Finished>,
    locks: Locks,
    telling: &Telling,
) -> Result<Vec<Applied>, QueueError> {
    let began_at = Instant::now();
    let mut transaction = shared.pool.begin_with(AssertSqlSafe(begin(shared, locks))).await?;
    let mut ends: Vec<End> = batch.iter().map(|finished| finished.end.clone()).collect();
    if locks == Locks::Pass {
        let places = held_elsewhere(&mut transaction, &ends).await?;
        held.extend(take_out(batch, &places));
        ends = batch.iter().map(|finished| finished.end.clone()).collect();
    }
    let finished = finish(&mut transaction, &ends).await?;
    telling.measure(tell::handlers(&shared.handlers, &mut transaction, batch, &finished.applied)).await?;
    transaction.commit().await?;
    let may_have_enqueued = || batch.iter().any(|one| shared.handlers.of(&one.job.job_type).may_enqueue());
    if finished.is_work_made || may_have_enqueued() {
        shared.work.notify_one();
    }
    if !batch.is_empty() {
        shared.meters.finished(batch.len(), began_at.elapsed());
    }
    tracing::debug!(count = batch.len(), duration_ms = began_at.elapsed().as_millis(), "recorded");
    Ok(finished.applied)
}

/// How a transaction that waits so long begins.
fn begin(shared: &Shared, locks: Locks) -> String {
    let wait = match locks {
        Locks::Wait | Locks::Pass => shared.config.lock_wait,
        Locks::Queue => shared.config.lock_wait * 5,
    };
    begin_with(shared, wait)
}

/// A process that is stopped in the middle of it keeps whoever waits for its rows waiting no longer than `longest_silence`: a third of what
/// connections have otherwise.
fn begin_with(shared: &Shared, lock_wait: Duration) -> String {
    // Nought would be for ever.
    format!(
        "{BEGIN}; set local lock_timeout = {}; set local idle_in_transaction_session_timeout = {}",
        lock_wait.as_millis().max(1),
        shared.config.longest_silence.as_millis().max(1)
    )
}

/// An end that was not recorded: the job was called off, or taken away. What it may have left behind is recorded all the same, in a
/// transaction of its own. False when somebody holds what it has to write: it waits, as results do whose rows are held.
async fn remember(shared: &Shared, pulse: &Pulse<'_>, finished: &mut Finished, locks: Locks) -> bool {
    let (mut tries_left, mut pause) = (TRIES, FIRST_PAUSE);
    while finished.doubt.is_some() && tries_left > 0 {
        pulse.within(LONGEST_TRY);
        let telling = Telling::default();
        let answer = timeout(PATIENCE, tell_late(shared, finished, locks, &telling)).await;
        match unless_away(shared, answer, &telling, &mut pause).await {
            Some(Ok(())) => return true,
            Some(Err(failed)) if !failed.is_silence && finished.races.go_on(&failed.error) => return false,
            Some(Err(Failed { error, is_silence })) => {
                tries_left -= 1;
                let id = finished.end.job_id;
                tracing::error!(job.id = %id, %error, is_silence, tries_left, "what job {id} sent although it was taken away could not be noted");
                tokio::time::sleep(BEFORE_ANOTHER).await;
            }
            None => {}
        }
    }
    true
}

async fn tell_late(
    shared: &Shared,
    finished: &mut Finished,
    locks: Locks,
    telling: &Telling,
) -> Result<(), QueueError> {
    let begin = match locks {
        // One after the other: a moment for each would be long for all.
        Locks::Pass => begin_with(shared, Duration::ZERO),
        Locks::Wait | Locks::Queue => begin(shared, locks),
    };
    let mut transaction = shared.pool.begin_with(AssertSqlSafe(begin)).await?;
    telling.measure(tell::unrecorded(&shared.handlers, &mut transaction, finished)).await?;
    Ok(transaction.commit().await?)
}

/// The answer, unless the database is away: then none, after a pause.
async fn unless_away<T>(
    shared: &Shared,
    answer: Result<Result<T, QueueError>, Elapsed>,
    telling: &Telling,
    pause: &mut Duration,
) -> Option<Result<T, Failed>> {
    let answer = answer.unwrap_or_else(|_| Err(QueueError::no_answer()));
    match answer.map_err(|error| telling.judge(shared, error)) {
        Err(Failed { error, is_silence: false }) if error.is_unavailable() => {
            shared.set_away(true);
            if error.wants_partition()
                && let Err(error) = partitions::make_ahead(&shared.pool).await
            {
                tracing::error!(%error, "today's partition is missing and cannot be made: nothing can be recorded");
            }
            tokio::time::sleep(*pause).await;
            *pause = (*pause * 2).min(LONGEST_PAUSE);
            None
        }
        result => {
            shared.set_away(false);
            Some(result)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        EngineConfig,
        worker::{Handlers, Unhandled},
    };
    use std::sync::Arc;

    fn shared(longest_silence: Duration) -> Shared {
        let pool = sqlx::PgPool::connect_lazy("postgres://nobody.invalid").unwrap();
        let config = EngineConfig { longest_silence, ..EngineConfig::default() };
        Shared::new(pool, config, Handlers::new(Arc::new(Unhandled::default())))
    }

    #[tokio::test]
    async fn who_does_not_answer_while_a_handler_is_told_for_too_long_is_the_handler() {
        let (untold, under_way, told) = (Telling::default(), Telling::default(), Telling::default());
        let pending = under_way.measure(std::future::pending::<()>());
        assert!(futures::poll!(Box::pin(pending)).is_pending());
        told.measure(async {}).await;
        let too_long = told.took();
        for (telling, longest, is_silence) in [
            (&untold, Duration::from_nanos(1), false),
            (&under_way, Duration::ZERO, true),
            (&under_way, Duration::from_secs(3_600), false),
            (&told, too_long, true),
            (&told, too_long + Duration::from_nanos(1), false),
        ] {
            let failed = telling.judge(&shared(longest), QueueError::no_answer());
            assert_eq!(failed.is_silence, is_silence, "{longest:?}");
        }
        let refused = QueueError::Database(sqlx::Error::RowNotFound);
        assert!(!told.judge(&shared(Duration::ZERO), refused).is_silence, "the database said no");
    }
}
