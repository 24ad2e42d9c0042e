//! Records the results of jobs, in batches.
//!
//! An idle engine records at once; a busy one gathers results for a few milliseconds, or while the writers are busy. Each batch is written by a task
//! of its own, so that nothing cancels it half-way. While the database is away results are kept and retried (`recorder`). `writer` decides about
//! batches that cannot be stored as they are; results whose rows another transaction has locked wait separately (`locked_results`).

use crate::worker::finish::Finished;
use crate::worker::finish::breakers::Breakers;
use crate::worker::finish::locked_results::record_locked;
use crate::worker::finish::recorder::{Locks, MAX_TRY_TIME};
use crate::worker::finish::writer::Writer;
use crate::worker::state::{Results, RunningJobs, Watchdog};
use std::{sync::Arc, time::Duration};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

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

/// Accepts results. When the last clone is dropped, the finisher writes what it has and ends.
#[derive(Clone)]
pub(crate) struct Finisher {
    sender: mpsc::UnboundedSender<Finished>,
    results: Arc<Results>,
}

impl Finisher {
    pub(crate) fn start(gathering: Gathering) -> (Self, JoinHandle<()>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let results = Arc::clone(&gathering.writer.results);
        let task = tokio::spawn(gathering.run(receiver));
        (Self { sender, results }, task)
    }

    pub(crate) fn record(&self, finished: Finished) {
        self.results.add_unrecorded();
        // The finisher ends only after the last sender.
        let _ = self.sender.send(finished);
    }

    /// One that records nothing.
    #[cfg(test)]
    pub(crate) fn without_writers(running: Arc<RunningJobs>) -> Self {
        let meters = Arc::new(crate::worker::state::Meters::new());
        Self { sender: mpsc::unbounded_channel().0, results: Arc::new(Results::new(running, meters)) }
    }
}

/// Gathers results into batches.
pub(crate) struct Gathering {
    pub(crate) writer: Arc<Writer>,
    pub(crate) breakers: Arc<Breakers>,
    pub(crate) running: Arc<RunningJobs>,
    pub(crate) watchdog: Arc<Watchdog>,
}

impl Gathering {
    async fn run(self, mut results: mpsc::UnboundedReceiver<Finished>) {
        let writers = Arc::new(Semaphore::new(WRITERS));
        let (locked_sender, locked) = mpsc::unbounded_channel();
        let (writer, watchdog) = (Arc::clone(&self.writer), Arc::clone(&self.watchdog));
        let waiting = tokio::spawn(async move { record_locked(&writer, &watchdog, locked).await });
        let mut batch = Vec::new();
        let watched = self.watchdog.watch("finisher");
        while results.recv_many(&mut batch, MAX_BATCH).await > 0 {
            // Several results at once, many running jobs or busy writers: more will come in a moment.
            let is_writing = writers.available_permits() < WRITERS;
            if batch.len() >= BUSY || is_writing || self.running.count() >= BUSY {
                let gather = if is_writing { GATHER_BEHIND_WRITERS } else { GATHER };
                let more = async {
                    while batch.len() < ENOUGH {
                        let room = MAX_BATCH - batch.len();
                        match tokio::time::timeout(CHECK_INTERVAL, results.recv_many(&mut batch, room)).await
                        {
                            Ok(0) => break,
                            Err(_) if self.writer.results.are_urgent() => break,
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
            let (writer, breakers) = (Arc::clone(&self.writer), Arc::clone(&self.breakers));
            let (watchdog, locked_sender) = (Arc::clone(&self.watchdog), locked_sender.clone());
            tokio::spawn(async move {
                let watched = watchdog.watch("writer");
                for part in [plain, others].into_iter().filter(|part| !part.is_empty()) {
                    watched.alive_within(MAX_TRY_TIME);
                    breakers.report_ends(&part).await;
                    for finished in writer.write(&watched, part, Locks::Wait).await {
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
}
