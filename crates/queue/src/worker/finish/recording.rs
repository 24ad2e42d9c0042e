//! One transaction that records ends, repeated while the database is away.

use crate::{
    error::QueueError,
    store::{
        jobs::{Applied, AttemptEnd, BEGIN, finish, locked_elsewhere},
        partitions,
    },
    worker::{
        finish::callbacks, finish::finisher::Finished, state::shared::Shared, state::watchdog::WatchedLoop,
    },
};
use sqlx::AssertSqlSafe;
use std::{collections::HashSet, sync::OnceLock, time::Duration};
use tokio::time::{Instant, error::Elapsed, timeout};

/// After this the transaction's connection is closed.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(30);
/// Bounds one transaction, creating a missing partition and the pause after it: a writer without a sign of life for longer has stopped.
pub(crate) const MAX_TRY_TIME: Duration = Duration::from_secs(120);

/// Between two tries while the database is away; doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(2);
/// How often recording a late end is tried when the database refuses it, or the handler keeps it waiting.
const MAX_TRIES: u32 = 5;
/// Between two of these tries.
const RETRY_PAUSE: Duration = Duration::from_millis(3);

/// What to do about rows that are locked elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locks {
    /// Wait a moment: most transactions commit at once.
    Wait,
    /// Do not wait: leave locked ends out.
    Skip,
    /// Wait longer: Postgres gives the lock of a row that many transactions take in turn to those that queue for it.
    Queue,
}

/// Why a batch was not recorded.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: QueueError,
    /// A handler let the transaction idle for too long.
    pub(crate) was_idle: bool,
}

/// How long the handlers' part of one transaction took. If a handler lets the transaction idle for too long, the database closes the connection, which
/// looks as if the database were away; or the handler never returns. In both cases the handler is to blame, and its attempt fails.
#[derive(Default)]
struct CallbackTime {
    since: OnceLock<Instant>,
    took: OnceLock<Duration>,
}

impl CallbackTime {
    async fn measure<T>(&self, calls: impl Future<Output = T>) -> T {
        let since = *self.since.get_or_init(Instant::now);
        let answer = calls.await;
        self.took.get_or_init(|| since.elapsed());
        answer
    }

    fn took(&self) -> Duration {
        let under_way = || self.since.get().map(Instant::elapsed).unwrap_or_default();
        self.took.get().copied().unwrap_or_else(under_way)
    }

    fn judge(&self, shared: &Shared, error: QueueError) -> Failed {
        let is_broken_off = error.is_unavailable() && !error.lacks_partition();
        Failed { was_idle: is_broken_off && self.took() >= shared.config.idle_in_transaction_timeout, error }
    }
}

/// Records a batch, however long the database is away. Returns the ends that were left out, and leaves the others in `batch`.
pub(crate) async fn persist(
    shared: &Shared,
    watched: &WatchedLoop<'_>,
    batch: &mut Vec<Finished>,
    locks: Locks,
) -> Result<Vec<Finished>, Failed> {
    let mut pause = FIRST_PAUSE;
    let mut locked = Vec::new();
    let applied = loop {
        watched.alive_within(MAX_TRY_TIME);
        // What the last try left out before it failed.
        batch.append(&mut locked);
        let callback_time = CallbackTime::default();
        let answer =
            timeout(TRANSACTION_TIMEOUT, transaction(shared, batch, &mut locked, locks, &callback_time))
                .await;
        match unless_away(shared, answer, &callback_time, &mut pause).await {
            Some(Ok(applied)) => break applied,
            Some(Err(error)) => {
                batch.append(&mut locked);
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
            tracing::info!(job.id = %id, correlation_id, applied = ?applied.get(at), "the result of job {id} was too late");
        }
        if !record_possible_arrival(shared, watched, &mut batch[at], locks).await {
            not_yet.insert(at);
        }
    }
    locked.extend(extract(batch, &not_yet));
    Ok(locked)
}

fn extract(batch: &mut Vec<Finished>, places: &HashSet<usize>) -> Vec<Finished> {
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
    locked: &mut Vec<Finished>,
    locks: Locks,
    callback_time: &CallbackTime,
) -> Result<Vec<Applied>, QueueError> {
    let began_at = Instant::now();
    let mut transaction = shared.pool.begin_with(AssertSqlSafe(begin(shared, locks))).await?;
    let mut ends: Vec<AttemptEnd> = batch.iter().map(|finished| finished.end.clone()).collect();
    if locks == Locks::Skip {
        let places = locked_elsewhere(&mut transaction, &ends).await?;
        locked.extend(extract(batch, &places));
        ends = batch.iter().map(|finished| finished.end.clone()).collect();
    }
    let finished = finish(&mut transaction, &ends).await?;
    callback_time
        .measure(callbacks::handlers(&shared.handlers, &mut transaction, batch, &finished.applied))
        .await?;
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

fn begin(shared: &Shared, locks: Locks) -> String {
    let wait = match locks {
        Locks::Wait | Locks::Skip => shared.config.lock_timeout,
        Locks::Queue => shared.config.lock_timeout * 5,
    };
    begin_with(shared, wait)
}

/// A process that is stopped in the middle of the transaction keeps its locks no longer than `idle_in_transaction_timeout`: a third of the time of
/// other connections.
fn begin_with(shared: &Shared, lock_timeout: Duration) -> String {
    // To Postgres 0 means no time-out.
    format!(
        "{BEGIN}; set local lock_timeout = {}; set local idle_in_transaction_session_timeout = {}",
        lock_timeout.as_millis().max(1),
        shared.config.idle_in_transaction_timeout.as_millis().max(1)
    )
}

/// Records what may have arrived of an end that was not recorded because the job was cancelled or is another worker's, in a transaction of its own.
/// False when a row it has to write is locked elsewhere: then it waits like other locked results.
async fn record_possible_arrival(
    shared: &Shared,
    watched: &WatchedLoop<'_>,
    finished: &mut Finished,
    locks: Locks,
) -> bool {
    let (mut tries_left, mut pause) = (MAX_TRIES, FIRST_PAUSE);
    while finished.uncertain.is_some() && tries_left > 0 {
        watched.alive_within(MAX_TRY_TIME);
        let callback_time = CallbackTime::default();
        let answer = timeout(TRANSACTION_TIMEOUT, record_late(shared, finished, locks, &callback_time)).await;
        match unless_away(shared, answer, &callback_time, &mut pause).await {
            Some(Ok(())) => return true,
            Some(Err(failed)) if !failed.was_idle && finished.races.should_retry(&failed.error) => {
                return false;
            }
            Some(Err(Failed { error, was_idle })) => {
                tries_left -= 1;
                let id = finished.end.job_id;
                tracing::error!(job.id = %id, %error, is_silence = was_idle, tries_left, "could not record what job {id} may have sent after it lost its lease");
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            None => {}
        }
    }
    true
}

async fn record_late(
    shared: &Shared,
    finished: &mut Finished,
    locks: Locks,
    callback_time: &CallbackTime,
) -> Result<(), QueueError> {
    let begin = match locks {
        // They are tried one after the other: even a short wait for each would add up.
        Locks::Skip => begin_with(shared, Duration::ZERO),
        Locks::Wait | Locks::Queue => begin(shared, locks),
    };
    let mut transaction = shared.pool.begin_with(AssertSqlSafe(begin)).await?;
    callback_time.measure(callbacks::unrecorded(&shared.handlers, &mut transaction, finished)).await?;
    Ok(transaction.commit().await?)
}

/// The result, unless the database is away: then none, after a pause.
async fn unless_away<T>(
    shared: &Shared,
    answer: Result<Result<T, QueueError>, Elapsed>,
    callback_time: &CallbackTime,
    pause: &mut Duration,
) -> Option<Result<T, Failed>> {
    let answer = answer.unwrap_or_else(|_| Err(QueueError::no_answer()));
    match answer.map_err(|error| callback_time.judge(shared, error)) {
        Err(Failed { error, was_idle: false }) if error.is_unavailable() => {
            shared.set_away(true);
            if error.lacks_partition()
                && let Err(error) = partitions::make_ahead(&shared.pool).await
            {
                tracing::error!(%error, "today's partition is missing and cannot be made: nothing can be recorded");
            }
            tokio::time::sleep(*pause).await;
            *pause = (*pause * 2).min(MAX_PAUSE);
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

    fn shared(idle_in_transaction_timeout: Duration) -> Shared {
        let pool = sqlx::PgPool::connect_lazy("postgres://nobody.invalid").unwrap();
        let config = EngineConfig { idle_in_transaction_timeout, ..EngineConfig::default() };
        Shared::new(pool, config, Handlers::new(Arc::new(Unhandled::default())))
    }

    #[tokio::test]
    async fn a_missing_answer_after_a_handler_took_too_long_is_its_fault() {
        let (uncalled, under_way, done) =
            (CallbackTime::default(), CallbackTime::default(), CallbackTime::default());
        let pending = under_way.measure(std::future::pending::<()>());
        assert!(futures::poll!(Box::pin(pending)).is_pending());
        done.measure(async {}).await;
        let too_long = done.took();
        for (callback_time, longest, was_idle) in [
            (&uncalled, Duration::from_nanos(1), false),
            (&under_way, Duration::ZERO, true),
            (&under_way, Duration::from_secs(3_600), false),
            (&done, too_long, true),
            (&done, too_long + Duration::from_nanos(1), false),
        ] {
            let failed = callback_time.judge(&shared(longest), QueueError::no_answer());
            assert_eq!(failed.was_idle, was_idle, "{longest:?}");
        }
        let refused = QueueError::Database(sqlx::Error::RowNotFound);
        assert!(!done.judge(&shared(Duration::ZERO), refused).was_idle, "the database refused it");
    }
}
