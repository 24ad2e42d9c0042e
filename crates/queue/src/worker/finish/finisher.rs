//! Records the results of jobs, in batches.
//!
//! An idle engine records at once; a busy one gathers results for a few milliseconds, or while the writers are busy. Each batch is written by a task
//! of its own, so that nothing cancels it half-way. While the database is away results are kept and retried (`recording`). `writing` decides about
//! batches that cannot be stored as they are; results whose rows another transaction has locked wait separately (`locked_results`).

use crate::{
    store::jobs::{AttemptEnd, ClaimedJob, Ending},
    worker::{
        CompletedJob, Uncertain,
        finish::breakers,
        finish::locked_results::record_locked,
        finish::recording::{Locks, MAX_TRY_TIME},
        finish::writing::{Detail, Races, write},
        limit::slots::AT_ONCE,
        state::shared::Shared,
    },
};
use model::id::AssignmentId;
use std::{sync::Arc, time::Duration};
use tokio::sync::{Semaphore, mpsc};

/// Most ends written in one statement.
const MAX_BATCH: usize = 1_000;
/// With this many results at once, or running jobs, an engine counts as busy.
const BUSY: usize = 8;
/// Batches written at the same time.
const WRITERS: usize = 4;
/// How long a busy engine gathers results: each transaction costs its statements and its wait for the disk.
const GATHER: Duration = Duration::from_millis(3);
/// The same while writers are busy.
const GATHER_BEHIND_WRITERS: Duration = Duration::from_millis(8);
/// How often it is checked meanwhile whether more results can come.
const CHECK_INTERVAL: Duration = Duration::from_millis(1);
/// This many results are worth a transaction at once.
const ENOUGH: usize = 200;

/// The result of one job.
pub(crate) struct Finished {
    /// Without its payload.
    pub job: ClaimedJob,
    pub end: AttemptEnd,
    /// Of a completed job: the argument of its handler's `on_completed`.
    pub done: Option<CompletedJob>,
    /// What may have arrived, as the handler reported.
    pub uncertain: Option<Uncertain>,
    /// Stored without calling the handler: the job's row itself records that something may have arrived.
    pub skips_handler: bool,
    /// Another job that shared the request reports its response.
    pub is_echo: bool,
    pub detail: Detail,
    pub races: Races,
    /// It was not recorded, because the job is another worker's: only what may have arrived is still to be recorded.
    pub is_late: bool,
}

impl Finished {
    pub(crate) fn new(
        job: ClaimedJob,
        end: AttemptEnd,
        done: Option<CompletedJob>,
        uncertain: Option<Uncertain>,
    ) -> Self {
        let (detail, races) = (Detail::default(), Races::default());
        Self {
            job,
            end,
            done,
            uncertain,
            skips_handler: false,
            is_echo: false,
            detail,
            races,
            is_late: false,
        }
    }

    /// The job is another worker's, so its end is not recorded: it gets an assignment nobody has. Only what may have arrived is recorded.
    pub(crate) fn of_a_lost_lease(job: ClaimedJob, uncertain: Option<Uncertain>) -> Self {
        let mut end = AttemptEnd::of(&job, Duration::ZERO, Ending::Released { until: AT_ONCE });
        end.assignment_id = AssignmentId(uuid::Uuid::nil());
        Self::new(job, end, None, uncertain)
    }
}

/// Accepts results. When the last clone is dropped, the finisher writes what it has and ends.
#[derive(Clone)]
pub(crate) struct Finisher {
    results: mpsc::UnboundedSender<Finished>,
    shared: Arc<Shared>,
}

impl Finisher {
    pub(crate) fn start(shared: Arc<Shared>) -> (Self, tokio::task::JoinHandle<()>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let task = tokio::spawn(gather(Arc::clone(&shared), receiver));
        (Self { results: sender, shared }, task)
    }

    pub(crate) fn record(&self, finished: Finished) {
        self.shared.add_unrecorded();
        // The finisher ends only after the last sender.
        let _ = self.results.send(finished);
    }
}

async fn gather(shared: Arc<Shared>, mut results: mpsc::UnboundedReceiver<Finished>) {
    let writers = Arc::new(Semaphore::new(WRITERS));
    let (locked_sender, locked) = mpsc::unbounded_channel();
    let waiting = tokio::spawn(record_locked(Arc::clone(&shared), locked));
    let mut batch = Vec::new();
    let watched = shared.watchdog.watch("finisher");
    while results.recv_many(&mut batch, MAX_BATCH).await > 0 {
        // Several results at once, many running jobs or busy writers: more will come in a moment.
        let is_writing = writers.available_permits() < WRITERS;
        if batch.len() >= BUSY || is_writing || shared.running() >= BUSY {
            let gather = if is_writing { GATHER_BEHIND_WRITERS } else { GATHER };
            let more = async {
                while batch.len() < ENOUGH {
                    let room = MAX_BATCH - batch.len();
                    match tokio::time::timeout(CHECK_INTERVAL, results.recv_many(&mut batch, room)).await {
                        Ok(0) => break,
                        Err(_) if shared.waits_for_results() => break,
                        Ok(_) | Err(_) => {}
                    }
                }
            };
            // `recv_many` is cancel safe: no result is lost.
            let _ = tokio::time::timeout(gather, more).await;
        }
        let Ok(permit) = Arc::clone(&writers).acquire_owned().await else { break };
        while batch.len() < MAX_BATCH {
            match results.try_recv() {
                Ok(finished) => batch.push(finished),
                Err(_) => break,
            }
        }
        // In separate transactions: plain completions are written by a statement that is three times cheaper, and two statements in one transaction
        // would lock jobs out of order.
        let (plain, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut batch).into_iter().partition(|finished| finished.end.is_plain());
        let (shared, locked_sender) = (Arc::clone(&shared), locked_sender.clone());
        tokio::spawn(async move {
            let watched = shared.watchdog.watch("writer");
            for part in [plain, others].into_iter().filter(|part| !part.is_empty()) {
                watched.alive_within(MAX_TRY_TIME);
                breakers::report_ends(&shared, &part).await;
                for finished in write(&shared, &watched, part, Locks::Wait).await {
                    // The receiver ends after the last writer.
                    let _ = locked_sender.send(finished);
                }
            }
            watched.ended();
            drop(permit);
        });
    }
    // Once all writers are idle, everything is recorded except what is locked elsewhere.
    let _ = writers.acquire_many(u32::try_from(WRITERS).unwrap_or(u32::MAX)).await;
    watched.ended();
    drop(locked_sender);
    if let Err(error) = waiting.await {
        tracing::error!(%error, "the task for locked results panicked");
    }
}
