//! Results whose rows are locked by another transaction: they wait here, apart from the writers, for as long as that takes.
//!
//! One task with one connection handles all of them. In each round it records those that are unlocked by now, and then waits for the lock of one of
//! the rest, in turn: most often they wait for the same transaction, and getting one lock shows that it has ended. Meanwhile the jobs' slots are
//! free and their lease is kept. As with all unrecorded results, a process with more of them than workers claims less, and with twice as many nothing.

use crate::worker::finish::Finished;
use crate::worker::finish::recorder::{Locks, MAX_TRY_TIME};
use crate::worker::finish::writer::Writer;
use crate::worker::state::{Watchdog, WatchedLoop};
use std::{collections::VecDeque, time::Duration};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

/// Most results recorded in one transaction.
const MAX_BATCH: usize = 1_000;
/// Between two rounds without a wait for a lock (a deadlock, a row that exists already); doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(3);
const MAX_PAUSE: Duration = Duration::from_secs(2);
/// Results that have waited this long are logged, and again each time the wait has doubled.
const FIRST_WARNING: Duration = Duration::from_secs(10);

/// Records what it receives, until everything is recorded and all senders are gone.
pub(crate) async fn record_locked(
    writer: &Writer,
    watchdog: &Watchdog,
    mut results: mpsc::UnboundedReceiver<Finished>,
) {
    let watched = watchdog.watch("locked results");
    let mut locked = VecDeque::new();
    let mut pace = Pace::new();
    loop {
        if locked.is_empty() {
            writer.results.set_locked_elsewhere(0);
            watched.waits_for_work();
            match results.recv().await {
                Some(finished) => locked.push_back(finished),
                None => break,
            }
            pace = Pace::new();
        }
        while let Ok(finished) = results.try_recv() {
            locked.push_back(finished);
        }
        writer.results.set_locked_elsewhere(locked.len());
        watched.alive_within(MAX_TRY_TIME);
        pace.warn_if_due(locked.len());
        let began_at = Instant::now();
        let count = locked.len();
        round(writer, &watched, &mut locked).await;
        let (has_recorded, has_waited) =
            (locked.len() < count, began_at.elapsed() >= writer.recorder.lock_timeout);
        if has_recorded || has_waited {
            pace.quicken();
        } else {
            pace.wait().await;
        }
    }
    watched.ended();
}

/// Records all that are unlocked, and waits for the lock of the first of the rest.
async fn round(writer: &Writer, watched: &WatchedLoop<'_>, locked: &mut VecDeque<Finished>) {
    for _ in 0..locked.len().div_ceil(MAX_BATCH) {
        let some: Vec<Finished> = locked.drain(..locked.len().min(MAX_BATCH)).collect();
        locked.extend(writer.write(watched, some, Locks::Skip).await);
    }
    writer.results.set_locked_elsewhere(locked.len());
    if let Some(first) = locked.pop_front() {
        locked.extend(writer.write(watched, vec![first], Locks::Queue).await);
    }
}

/// How long results have waited, and the pause before another round.
struct Pace {
    since: Instant,
    warn_at: Duration,
    pause: Duration,
}

impl Pace {
    fn new() -> Self {
        Self { since: Instant::now(), warn_at: FIRST_WARNING, pause: FIRST_PAUSE }
    }

    fn quicken(&mut self) {
        self.pause = FIRST_PAUSE;
    }

    async fn wait(&mut self) {
        sleep(self.pause.mul_f64(0.5 + rand::random::<f64>())).await;
        self.pause = (self.pause * 2).min(MAX_PAUSE);
    }

    fn warn_if_due(&mut self, count: usize) {
        if self.since.elapsed() >= self.warn_at {
            let seconds = self.since.elapsed().as_secs();
            tracing::warn!(
                count,
                seconds,
                "{count} results wait to be recorded, the first for {seconds} s: other transactions have locked their jobs' rows or serialize keys"
            );
            self.warn_at *= 2;
        }
    }
}
