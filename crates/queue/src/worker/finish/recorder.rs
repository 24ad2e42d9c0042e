//! One transaction that records ends, repeated while the database is away.

use crate::error::Result;
use crate::store::jobs::{Applied, AttemptEnd, BEGIN, finish, locked_elsewhere};
use crate::store::partitions;
use crate::worker::finish::callback_time::{CallbackTime, Failed};
use crate::worker::finish::latencies::Latencies;
use crate::worker::finish::{Finished, callbacks};
use crate::worker::handler::Handlers;
use crate::worker::state::{Availability, Meters, Reach, WakeUps, WatchedLoop};
use sqlx::{AssertSqlSafe, PgPool};
use std::{collections::HashSet, sync::Arc, time::Duration};
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

/// Records ends in transactions of its own.
pub(crate) struct Recorder {
    pub(crate) pool: PgPool,
    pub(crate) handlers: Handlers,
    pub(crate) lock_timeout: Duration,
    pub(crate) idle_in_transaction_timeout: Duration,
    pub(crate) availability: Arc<Availability>,
    pub(crate) wake_ups: Arc<WakeUps>,
    pub(crate) meters: Arc<Meters>,
    pub(crate) latencies: Arc<Latencies>,
}

impl Recorder {
    /// Records a batch, however long the database is away. Returns the ends that were left out, and leaves the others in `batch`.
    pub(crate) async fn persist(
        &self,
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
                timeout(TRANSACTION_TIMEOUT, self.transaction(batch, &mut locked, locks, &callback_time))
                    .await;
            match self.unless_away(answer, &callback_time, &mut pause).await {
                Some(Ok(applied)) => break applied,
                Some(Err(error)) => {
                    batch.append(&mut locked);
                    return Err(error);
                }
                None => {}
            }
        };
        let recorded = batch.iter().zip(&applied).filter(|(_, applied)| applied.is_recorded());
        self.latencies.note(recorded.map(|(finished, _)| finished));
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
            if !self.record_possible_arrival(watched, &mut batch[at], locks).await {
                not_yet.insert(at);
            }
        }
        locked.extend(extract(batch, &not_yet));
        Ok(locked)
    }

    async fn transaction(
        &self,
        batch: &mut Vec<Finished>,
        locked: &mut Vec<Finished>,
        locks: Locks,
        callback_time: &CallbackTime,
    ) -> Result<Vec<Applied>> {
        let began_at = Instant::now();
        let mut transaction = self.pool.begin_with(AssertSqlSafe(self.begin(locks))).await?;
        let mut ends: Vec<AttemptEnd> = batch.iter().map(|finished| finished.end.clone()).collect();
        if locks == Locks::Skip {
            let places = locked_elsewhere(&mut transaction, &ends).await?;
            locked.extend(extract(batch, &places));
            ends = batch.iter().map(|finished| finished.end.clone()).collect();
        }
        let finished = finish(&mut transaction, &ends).await?;
        callback_time
            .measure(callbacks::handlers(&self.handlers, &mut transaction, batch, &finished.applied))
            .await?;
        transaction.commit().await?;
        let may_have_enqueued = || batch.iter().any(|one| self.handlers.of(&one.job.job_type).may_enqueue());
        if finished.is_work_made || may_have_enqueued() {
            self.wake_ups.wake();
        }
        if !batch.is_empty() {
            self.meters.finished(batch.len(), began_at.elapsed());
        }
        tracing::debug!(count = batch.len(), duration_ms = began_at.elapsed().as_millis(), "recorded");
        Ok(finished.applied)
    }

    fn begin(&self, locks: Locks) -> String {
        let wait = match locks {
            Locks::Wait | Locks::Skip => self.lock_timeout,
            Locks::Queue => self.lock_timeout * 5,
        };
        self.begin_with(wait)
    }

    /// A process that is stopped in the middle of the transaction keeps its locks no longer than `idle_in_transaction_timeout`: a third of the time of
    /// other connections.
    fn begin_with(&self, lock_timeout: Duration) -> String {
        // To Postgres 0 means no time-out.
        format!(
            "{BEGIN}; set local lock_timeout = {}; set local idle_in_transaction_session_timeout = {}",
            lock_timeout.as_millis().max(1),
            self.idle_in_transaction_timeout.as_millis().max(1)
        )
    }

    /// Records what may have arrived of an end that was not recorded because the job was cancelled or is another worker's, in a transaction of its own.
    /// False when a row it has to write is locked elsewhere: then it waits like other locked results.
    async fn record_possible_arrival(
        &self,
        watched: &WatchedLoop<'_>,
        finished: &mut Finished,
        locks: Locks,
    ) -> bool {
        let (mut tries_left, mut pause) = (MAX_TRIES, FIRST_PAUSE);
        while finished.uncertain.is_some() && tries_left > 0 {
            watched.alive_within(MAX_TRY_TIME);
            let callback_time = CallbackTime::default();
            let answer =
                timeout(TRANSACTION_TIMEOUT, self.record_late(finished, locks, &callback_time)).await;
            match self.unless_away(answer, &callback_time, &mut pause).await {
                Some(Ok(())) => return true,
                Some(Err(failed)) if !failed.was_idle && finished.races.should_retry(&failed.error) => {
                    return false;
                }
                Some(Err(Failed { error, was_idle })) => {
                    tries_left -= 1;
                    let id = finished.end.job_id;
                    tracing::error!(job.id = %id, error = %error.with_causes(), is_silence = was_idle, tries_left, "could not record what job {id} may have sent after it lost its lease");
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                None => {}
            }
        }
        true
    }

    async fn record_late(
        &self,
        finished: &mut Finished,
        locks: Locks,
        callback_time: &CallbackTime,
    ) -> Result<()> {
        let begin = match locks {
            // They are tried one after the other: even a short wait for each would add up.
            Locks::Skip => self.begin_with(Duration::ZERO),
            Locks::Wait | Locks::Queue => self.begin(locks),
        };
        let mut transaction = self.pool.begin_with(AssertSqlSafe(begin)).await?;
        callback_time.measure(callbacks::unrecorded(&self.handlers, &mut transaction, finished)).await?;
        Ok(transaction.commit().await?)
    }

    /// The result, unless the database is away: then none, after a pause.
    async fn unless_away<T>(
        &self,
        answer: Result<Result<T>, Elapsed>,
        callback_time: &CallbackTime,
        pause: &mut Duration,
    ) -> Option<Result<T, Failed>> {
        let answer = answer.unwrap_or_else(|late| Err(late.into()));
        match answer.map_err(|error| callback_time.judge(self.idle_in_transaction_timeout, error)) {
            Err(Failed { error, was_idle: false }) if error.is_unavailable() => {
                self.availability.note(Reach::Away);
                if error.lacks_partition()
                    && let Err(error) = partitions::make_ahead(&self.pool).await
                {
                    tracing::error!(
                        error = %error.with_causes(),
                        "today's partition is missing and cannot be made: nothing can be recorded"
                    );
                }
                tokio::time::sleep(*pause).await;
                *pause = (*pause * 2).min(MAX_PAUSE);
                None
            }
            result => {
                self.availability.note(Reach::Reached);
                Some(result)
            }
        }
    }
}

fn extract(batch: &mut Vec<Finished>, places: &HashSet<usize>) -> Vec<Finished> {
    let mut at = 0;
    let is_one = |_: &mut Finished| {
        at += 1;
        places.contains(&(at - 1))
    };
    batch.extract_if(.., is_one).collect()
}
