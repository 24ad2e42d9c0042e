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
use std::time::Duration;
use tokio::time::{Instant, error::Elapsed, timeout};

/// One transaction has this long; afterwards the connection is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// A process that is stopped in the middle of it keeps producers that fold into its jobs waiting no longer: a third of what connections have
/// otherwise. What a handler does between two statements of [`on_completed`](crate::worker::AttemptHandler::on_completed) is shorter.
const LONGEST_SILENCE: Duration = Duration::from_secs(5);
/// One transaction, a missing partition made, and the pause behind it: whoever is silent for longer has stopped.
pub(super) const LONGEST_TRY: Duration = Duration::from_secs(120);

/// While the database is away.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Before what came too late is tried to be noted again.
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

/// Writes a batch, however long the database is away; what was left out comes back, and `batch` is the rest.
pub(super) async fn persist(
    shared: &Shared,
    pulse: &Pulse<'_>,
    batch: &mut Vec<Finished>,
    locks: Locks,
) -> Result<Vec<Finished>, QueueError> {
    let mut pause = FIRST_PAUSE;
    let mut held = Vec::new();
    let applied = loop {
        pulse.within(LONGEST_TRY);
        // Of a try that failed.
        batch.append(&mut held);
        let answer = timeout(PATIENCE, transaction(shared, batch, &mut held, locks)).await;
        match unless_away(shared, answer, &mut pause).await {
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
    for at in &late {
        let id = batch[*at].end.job_id;
        tracing::info!(job.id = %id, applied = ?applied.get(*at), "the result of job {id} came too late");
    }
    remember(shared, pulse, batch, &late).await;
    Ok(held)
}

async fn transaction(
    shared: &Shared,
    batch: &mut Vec<Finished>,
    held: &mut Vec<Finished>,
    locks: Locks,
) -> Result<Vec<Applied>, QueueError> {
    let began_at = Instant::now();
    let mut transaction = shared.pool.begin_with(AssertSqlSafe(begin(shared, locks))).await?;
    let mut ends: Vec<End> = batch.iter().map(|finished| finished.end.clone()).collect();
    if locks == Locks::Pass {
        let places = held_elsewhere(&mut transaction, &ends).await?;
        let mut at = 0;
        held.extend(batch.extract_if(.., |_| {
            at += 1;
            places.contains(&(at - 1))
        }));
        ends = batch.iter().map(|finished| finished.end.clone()).collect();
    }
    let applied = finish(&mut transaction, &ends).await?;
    tell::handlers(&shared.handlers, &mut transaction, batch, &applied).await?;
    transaction.commit().await?;
    if !batch.is_empty() {
        shared.meters.finished(batch.len(), began_at.elapsed());
    }
    tracing::debug!(count = batch.len(), duration_ms = began_at.elapsed().as_millis(), "recorded");
    Ok(applied)
}

/// How a transaction that waits so long begins.
fn begin(shared: &Shared, locks: Locks) -> String {
    let wait = match locks {
        Locks::Wait | Locks::Pass => shared.config.lock_wait,
        Locks::Queue => shared.config.lock_wait * 5,
    };
    // Nought would be for ever.
    format!(
        "{BEGIN}; set local lock_timeout = {}; set local idle_in_transaction_session_timeout = {}",
        wait.as_millis().max(1),
        LONGEST_SILENCE.as_millis()
    )
}

/// Ends that were not recorded: the job was called off, or taken away. What they may have left behind is recorded all the same, one by
/// one, so that a job that cannot be does not take the others' doubt with it.
async fn remember(shared: &Shared, pulse: &Pulse<'_>, batch: &mut [Finished], late: &[usize]) {
    for at in late {
        let Some(finished) = batch.get_mut(*at).filter(|finished| finished.doubt.is_some()) else { continue };
        let (mut tries_left, mut pause) = (5, FIRST_PAUSE);
        while tries_left > 0 {
            pulse.within(LONGEST_TRY);
            let answer = timeout(PATIENCE, tell_late(shared, finished)).await;
            match unless_away(shared, answer, &mut pause).await {
                Some(Ok(())) => break,
                Some(Err(error)) => {
                    tries_left -= 1;
                    let id = finished.end.job_id;
                    tracing::error!(job.id = %id, %error, tries_left, "what job {id} sent although it was taken away could not be noted");
                    tokio::time::sleep(BEFORE_ANOTHER).await;
                }
                None => {}
            }
        }
    }
}

async fn tell_late(shared: &Shared, finished: &mut Finished) -> Result<(), QueueError> {
    let mut transaction = shared.pool.begin().await?;
    tell::unrecorded(&shared.handlers, &mut transaction, finished).await?;
    Ok(transaction.commit().await?)
}

/// The answer, unless the database is away: then none, after a pause.
async fn unless_away<T>(
    shared: &Shared,
    answer: Result<Result<T, QueueError>, Elapsed>,
    pause: &mut Duration,
) -> Option<Result<T, QueueError>> {
    match answer.unwrap_or_else(|_| Err(QueueError::no_answer())) {
        Err(error) if error.is_unavailable() => {
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
