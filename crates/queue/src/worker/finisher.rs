//! Records what came of jobs, in batches.
//!
//! An idle engine writes at once; a busy one gathers for a few milliseconds, or while the writers are at work. Each batch is written by
//! a task of its own, so that nothing cancels it half-way. While the database is away results are kept and tried again (`recording`). What a
//! batch becomes that is not stored as it is says `writing`; those whose rows somebody else holds wait apart (`held_results`).

use crate::{
    store::jobs::{ClaimedJob, End, Ending},
    worker::{
        CompletedJob, Doubt, breakers,
        held_results::wait_for_rows,
        recording::{LONGEST_TRY, Locks},
        shared::Shared,
        slots::AT_ONCE,
        writing::{Plainness, Races, write},
    },
};
use model::id::AssignmentId;
use std::{sync::Arc, time::Duration};
use tokio::sync::{Semaphore, mpsc};

/// Ends written in one statement at most.
const MOST: usize = 1_000;
/// So many ends handed in at once, or jobs under way, are the sign of a busy engine.
const BUSY: usize = 8;
/// Batches written at once.
const WRITERS: usize = 4;
/// How long a busy engine gathers, and how long while writers are at work: each transaction costs its statements and its wait for the disk.
const GATHER: Duration = Duration::from_millis(3);
const GATHER_BEHIND_WRITERS: Duration = Duration::from_millis(8);
/// How often somebody who gathers looks whether anything can still come.
const LOOK: Duration = Duration::from_millis(1);
/// So many are worth a transaction of their own at once.
const PLENTY: usize = 200;
/// What came of one job.
pub(super) struct Finished {
    /// Without its payload.
    pub job: ClaimedJob,
    pub end: End,
    /// Of a completed job: what its handler is shown inside the transaction.
    pub done: Option<CompletedJob>,
    /// What may have arrived, as the handler said.
    pub doubt: Option<Doubt>,
    /// Stored without the handler's word: the row itself remembers the doubt.
    pub is_bare: bool,
    /// Another job of the same request says what came of it.
    pub is_echo: bool,
    /// How much of it is left.
    pub plainness: Plainness,
    /// What it has met with so far.
    pub races: Races,
    /// It was not recorded, because the job was somebody else's: only what it may have left behind is still to be noted.
    pub is_late: bool,
}

impl Finished {
    pub(super) fn new(job: ClaimedJob, end: End, done: Option<CompletedJob>, doubt: Option<Doubt>) -> Self {
        let (plainness, races) = (Plainness::default(), Races::default());
        Self { job, end, done, doubt, is_bare: false, is_echo: false, plainness, races, is_late: false }
    }

    /// Nothing is recorded of the job, which is somebody else's: its end is under a lease nobody has. Only its doubt is.
    pub(super) fn of_a_lost_lease(job: ClaimedJob, doubt: Option<Doubt>) -> Self {
        let mut end = End::of(&job, Duration::ZERO, Ending::Released { until: AT_ONCE });
        end.assignment_id = AssignmentId(uuid::Uuid::nil());
        Self::new(job, end, None, doubt)
    }
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
    let (hold, held) = mpsc::unbounded_channel();
    let waiting = tokio::spawn(wait_for_rows(Arc::clone(&shared), held));
    let mut batch = Vec::new();
    let pulse = shared.pulses.watch("finisher");
    while results.recv_many(&mut batch, MOST).await > 0 {
        // Several at once, or many that run, or writers at work: more will come in a moment.
        let is_writing = writers.available_permits() < WRITERS;
        if batch.len() >= BUSY || is_writing || shared.running() >= BUSY {
            let gather = if is_writing { GATHER_BEHIND_WRITERS } else { GATHER };
            let more = async {
                while batch.len() < PLENTY {
                    let room = MOST - batch.len();
                    match tokio::time::timeout(LOOK, results.recv_many(&mut batch, room)).await {
                        Ok(0) => break,
                        Err(_) if shared.waits_for_results() => break,
                        Ok(_) | Err(_) => {}
                    }
                }
            };
            // Cut off between two of them, none is lost.
            let _ = tokio::time::timeout(gather, more).await;
        }
        let Ok(permit) = Arc::clone(&writers).acquire_owned().await else { break };
        while batch.len() < MOST {
            match results.try_recv() {
                Ok(finished) => batch.push(finished),
                Err(_) => break,
            }
        }
        // In transactions of their own: completions alone are written by a statement three times cheaper, and two statements in one
        // transaction would lock jobs out of order.
        let (plain, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut batch).into_iter().partition(|finished| finished.end.is_plain());
        let (shared, hold) = (Arc::clone(&shared), hold.clone());
        tokio::spawn(async move {
            let pulse = shared.pulses.watch("writer");
            for part in [plain, others].into_iter().filter(|part| !part.is_empty()) {
                pulse.within(LONGEST_TRY);
                breakers::tell_of(&shared, &part).await;
                for finished in write(&shared, &pulse, part, Locks::Wait).await {
                    // Whoever waits for them ends after the last writer.
                    let _ = hold.send(finished);
                }
            }
            pulse.ended();
            drop(permit);
        });
    }
    // All writers idle: everything is recorded, but for what is held.
    let _ = writers.acquire_many(u32::try_from(WRITERS).unwrap_or(u32::MAX)).await;
    pulse.ended();
    drop(hold);
    if let Err(error) = waiting.await {
        tracing::error!(%error, "whoever waits for held rows ended with a panic");
    }
}
