//! Records what came of jobs, in batches.
//!
//! An idle engine writes at once; a busy one gathers for a few milliseconds, or while the writers are at work. Each batch is written by
//! a task of its own, so that nothing cancels it half-way. While the database is away results are kept and tried again; a batch that
//! loses a race is repeated job by job, and a result that cannot be stored becomes a plain failure, so that no job is stuck with it.

use crate::{
    error::{QueueError, is_race},
    store::jobs::{Applied, BEGIN, ClaimedJob, End, Ending, Failure, finish},
    worker::{CompletedJob, JobHandler, execute::ending_of_failure, limiter::AT_ONCE, shared::Shared},
};
use model::rules::verdict::{ErrorKind, Verdict};
use sqlx::PgConnection;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{Semaphore, mpsc},
    time::Instant,
};

/// Ends written in one statement at most.
const MOST: usize = 500;
/// Batches written at once.
const WRITERS: usize = 4;
/// How long a busy engine gathers.
const GATHER: Duration = Duration::from_millis(3);
/// One transaction has this long; afterwards the connection is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// What came of one job.
pub(super) struct Finished {
    /// Without its payload.
    pub job: ClaimedJob,
    pub end: End,
    /// Of a completed job: what its handler is shown inside the transaction.
    pub done: Option<CompletedJob>,
}

/// Where results are handed in. When the last one is dropped, the finisher writes what it has and ends.
#[derive(Clone)]
pub(super) struct Finisher {
    results: mpsc::UnboundedSender<Finished>,
    shared: Arc<Shared>,
}

impl Finisher {
    pub(super) fn start(shared: Arc<Shared>) -> (Self, tokio::task::JoinHandle<()>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let task = tokio::spawn(gather(Arc::clone(&shared), receiver));
        (Self { results: sender, shared }, task)
    }

    pub(super) fn record(&self, finished: Finished) {
        self.shared.add_unrecorded();
        // The finisher ends only after the last sender.
        let _ = self.results.send(finished);
    }
}

async fn gather(shared: Arc<Shared>, mut results: mpsc::UnboundedReceiver<Finished>) {
    let writers = Arc::new(Semaphore::new(WRITERS));
    let mut batch = Vec::new();
    while results.recv_many(&mut batch, MOST).await > 0 {
        if writers.available_permits() < WRITERS {
            tokio::time::sleep(GATHER).await;
        }
        let Ok(permit) = Arc::clone(&writers).acquire_owned().await else { break };
        while batch.len() < MOST {
            match results.try_recv() {
                Ok(finished) => batch.push(finished),
                Err(_) => break,
            }
        }
        let full = std::mem::take(&mut batch);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            write(&shared, full).await;
            drop(permit);
        });
    }
    // All writers idle: everything is recorded.
    let _ = writers.acquire_many(u32::try_from(WRITERS).unwrap_or(u32::MAX)).await;
}

/// Writes a batch, however long the database is away.
async fn write(shared: &Shared, mut batch: Vec<Finished>) {
    let count = batch.len();
    if let Err(error) = persist(shared, &mut batch).await {
        tracing::debug!(%error, count, "a batch of ends is repeated job by job");
        for finished in &mut batch {
            write_one(shared, finished).await;
        }
    } else {
        for finished in &batch {
            shared.settle(finished.job.claim_batch_id);
        }
    }
    shared.note_recorded(count);
}

/// Writes one end, a plainer one when the database refuses it: whatever is wrong, the job must not stay ours for ever.
async fn write_one(shared: &Shared, finished: &mut Finished) {
    let id = finished.job.id;
    for step in [Plainer::AsItIs, Plainer::Failure, Plainer::Release] {
        match step {
            Plainer::AsItIs => {}
            Plainer::Failure => make_plain(shared, finished),
            Plainer::Release => {
                finished.done = None;
                finished.end.ending = Ending::Released { until: AT_ONCE };
            }
        }
        for _ in 0..5 {
            match persist(shared, std::slice::from_mut(finished)).await {
                Ok(()) => return shared.settle(finished.job.claim_batch_id),
                Err(QueueError::Database(error)) if is_race(&error) => {
                    tokio::time::sleep(GATHER.mul_f64(1.0 + 4.0 * rand::random::<f64>())).await;
                }
                Err(error) => {
                    let source = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::error!(job.id = %id, %error, source, "the result of job {id} could not be stored");
                    break;
                }
            }
        }
    }
    tracing::error!(job.id = %id, "job {id} could not even be given back: the sweep finds it when this process has ended");
    shared.abandon(finished.job.claim_batch_id);
}

/// How much of a result is tried to be stored.
#[derive(Clone, Copy)]
enum Plainer {
    AsItIs,
    Failure,
    Release,
}

/// A result that cannot be stored becomes a failure that can.
fn make_plain(shared: &Shared, finished: &mut Finished) {
    finished.done = None;
    let failure = Failure {
        verdict: Verdict::Retry { kind: ErrorKind::Retryable, at_least: None, holds_integration: false },
        message: "The result could not be stored.".to_owned(),
        response: None,
        sent_body: None,
    };
    let (attempt, max_attempts) = (finished.job.attempt, finished.job.max_attempts);
    finished.end.ending =
        ending_of_failure(&shared.config.backoff, attempt, max_attempts, failure, rand::random());
}

/// One transaction, repeated while the database is away.
async fn persist(shared: &Shared, batch: &mut [Finished]) -> Result<(), QueueError> {
    let mut pause = Duration::from_millis(50);
    loop {
        let result = match tokio::time::timeout(PATIENCE, transaction(shared, batch)).await {
            Ok(result) => result,
            Err(_) => Err(QueueError::Unavailable(sqlx::Error::PoolTimedOut)),
        };
        match result {
            Err(error) if error.is_unavailable() => {
                shared.set_away(true);
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(2));
            }
            result => {
                shared.set_away(false);
                return result;
            }
        }
    }
}

async fn transaction(shared: &Shared, batch: &mut [Finished]) -> Result<(), QueueError> {
    let began_at = Instant::now();
    let mut transaction = shared.pool.begin_with(BEGIN).await?;
    let ends: Vec<End> = batch.iter().map(|finished| finished.end.clone()).collect();
    let applied = finish(&mut transaction, &ends).await?;
    tell_handlers(shared, &mut transaction, batch, &applied).await?;
    transaction.commit().await?;
    for (finished, applied) in batch.iter().zip(&applied) {
        if *applied != Applied::Yes {
            let id = finished.end.job_id;
            tracing::info!(job.id = %id, ?applied, "the result of job {id} came too late");
        }
    }
    tracing::debug!(count = batch.len(), duration_ms = began_at.elapsed().as_millis(), "recorded");
    Ok(())
}

/// Shows each handler those of its jobs that did complete.
async fn tell_handlers(
    shared: &Shared,
    connection: &mut PgConnection,
    batch: &mut [Finished],
    applied: &[Applied],
) -> Result<(), QueueError> {
    let mut by_handler: Vec<(Arc<dyn JobHandler>, Vec<usize>)> = Vec::new();
    for (index, finished) in batch.iter().enumerate() {
        if finished.done.is_none() || applied.get(index) != Some(&Applied::Yes) {
            continue;
        }
        let handler = shared.handlers.of(&finished.job.job_type);
        match by_handler.iter_mut().find(|(known, _)| Arc::ptr_eq(known, handler)) {
            Some((_, indices)) => indices.push(index),
            None => by_handler.push((Arc::clone(handler), vec![index])),
        }
    }
    for (handler, indices) in by_handler {
        let (indices, done): (Vec<usize>, Vec<CompletedJob>) =
            indices.into_iter().filter_map(|index| Some((index, batch[index].done.take()?))).unzip();
        let told = handler.on_completed(connection, &done).await;
        // Kept for a repetition.
        for (index, done) in indices.into_iter().zip(done) {
            batch[index].done = Some(done);
        }
        told?;
    }
    Ok(())
}
