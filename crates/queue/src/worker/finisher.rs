//! Records what came of jobs, in batches.
//!
//! An idle engine writes at once; a busy one gathers for a few milliseconds, or while the writers are at work. Each batch is written by
//! a task of its own, so that nothing cancels it half-way. While the database is away results are kept and tried again; a batch that
//! loses a race is repeated job by job, and a result that cannot be stored becomes a plain failure, so that no job is stuck with it.

use crate::{
    error::{QueueError, is_race},
    store::{
        jobs::{Applied, BEGIN, ClaimedJob, End, Ending, finish},
        partitions,
    },
    worker::{
        CompletedJob, Doubt, breakers,
        execute::{ending_of_failure, failure},
        shared::Shared,
        slots::AT_ONCE,
        tell,
        watchdog::Pulse,
    },
};
use model::{id::AssignmentId, rules::verdict::ErrorKind};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{Semaphore, mpsc},
    time::{Instant, error::Elapsed, timeout},
};

/// Ends written in one statement at most.
const MOST: usize = 1_000;
/// So many ends handed in at once are the sign of a busy engine.
const BUSY: usize = 8;
/// Batches written at once.
const WRITERS: usize = 4;
/// How long a busy engine gathers.
const GATHER: Duration = Duration::from_millis(3);
/// One transaction has this long; afterwards the connection is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// One transaction, a missing partition made, and the pause behind it: whoever is silent for longer has stopped.
const LONGEST_TRY: Duration = Duration::from_secs(120);

/// Races one result may lose: some two seconds. Whoever gives up on a result does its job again, so that what was sent is sent twice.
const RACES: u32 = 15;

/// While the database is away.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

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
}

impl Finished {
    pub(super) fn new(job: ClaimedJob, end: End, done: Option<CompletedJob>, doubt: Option<Doubt>) -> Self {
        Self { job, end, done, doubt, is_bare: false, is_echo: false }
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
    let mut batch = Vec::new();
    let pulse = shared.pulses.watch("finisher");
    while results.recv_many(&mut batch, MOST).await > 0 {
        // Several at once, or writers at work: more will come in a moment.
        if batch.len() >= BUSY || writers.available_permits() < WRITERS {
            tokio::time::sleep(GATHER).await;
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
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            for part in [plain, others].into_iter().filter(|part| !part.is_empty()) {
                write(&shared, part).await;
            }
            drop(permit);
        });
    }
    // All writers idle: everything is recorded.
    let _ = writers.acquire_many(u32::try_from(WRITERS).unwrap_or(u32::MAX)).await;
    pulse.ended();
}

/// Writes a batch, however long the database is away.
async fn write(shared: &Shared, mut batch: Vec<Finished>) {
    let count = batch.len();
    let pulse = shared.pulses.watch("writer");
    breakers::tell_of(shared, &batch).await;
    if let Err(error) = persist(shared, &pulse, &mut batch).await {
        tracing::debug!(%error, count, "a batch of ends is repeated job by job");
        for finished in &mut batch {
            write_one(shared, &pulse, finished).await;
        }
    } else {
        for finished in &batch {
            shared.settle(finished.job.claim_batch_id);
        }
    }
    shared.note_recorded(count);
    pulse.ended();
}

/// Writes one end, a plainer one when the database refuses it: whatever is wrong, the job must not stay ours for ever.
async fn write_one(shared: &Shared, pulse: &Pulse<'_>, finished: &mut Finished) {
    let id = finished.job.id;
    for step in [Plainer::AsItIs, Plainer::Failure, Plainer::Release] {
        match step {
            Plainer::AsItIs => {}
            Plainer::Failure => make_plain(shared, finished),
            Plainer::Release => {
                finished.done = None;
                finished.is_bare = true;
                finished.end.is_doubtful = finished.doubt.is_some();
                finished.end.ending = Ending::Released { until: AT_ONCE };
            }
        }
        for race in 0..RACES {
            match persist(shared, pulse, std::slice::from_mut(finished)).await {
                Ok(()) => return shared.settle(finished.job.claim_batch_id),
                Err(QueueError::Database(error)) if is_race(&error) => {
                    let pause = GATHER * (1 << race.min(6));
                    tokio::time::sleep(pause.mul_f64(0.5 + rand::random::<f64>())).await;
                }
                Err(error) => {
                    let source = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::error!(job.id = %id, %error, source, "the result of job {id} could not be stored");
                    break;
                }
            }
        }
    }
    tracing::error!(job.id = %id, "job {id} could not even be given back: it is tried again from time to time");
    shared.note_stuck(finished.job.assignment_id, finished.job.claim_batch_id);
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
    let failure = failure(ErrorKind::Retryable, "The result could not be stored.".to_owned());
    let (attempt, max_attempts) = (finished.job.attempt, finished.job.max_attempts);
    finished.end.ending =
        ending_of_failure(&shared.config.backoff, attempt, max_attempts, failure, rand::random());
}

/// One transaction, repeated while the database is away.
async fn persist(shared: &Shared, pulse: &Pulse<'_>, batch: &mut [Finished]) -> Result<(), QueueError> {
    let mut pause = FIRST_PAUSE;
    let applied = loop {
        pulse.within(LONGEST_TRY);
        let answer = timeout(PATIENCE, transaction(shared, batch)).await;
        if let Some(result) = unless_away(shared, answer, &mut pause).await {
            break result?;
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
    Ok(())
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
                    tokio::time::sleep(GATHER).await;
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

async fn transaction(shared: &Shared, batch: &mut [Finished]) -> Result<Vec<Applied>, QueueError> {
    let began_at = Instant::now();
    let mut transaction = shared.pool.begin_with(BEGIN).await?;
    let ends: Vec<End> = batch.iter().map(|finished| finished.end.clone()).collect();
    let applied = finish(&mut transaction, &ends).await?;
    tell::handlers(&shared.handlers, &mut transaction, batch, &applied).await?;
    transaction.commit().await?;
    shared.meters.finished(batch.len(), began_at.elapsed());
    tracing::debug!(count = batch.len(), duration_ms = began_at.elapsed().as_millis(), "recorded");
    Ok(applied)
}
