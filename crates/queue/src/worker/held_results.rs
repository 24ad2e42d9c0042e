//! Results whose rows another transaction holds: they wait here, apart from the writers, for as long as that takes.
//!
//! One task for all of them, and one connection. In each round it records what came free meanwhile, and then stands in line for one of those that
//! are left, each in its turn: most often they wait for the same transaction, and the lock that is given tells that it has ended. The jobs'
//! slots are free meanwhile and their lease is kept; as with all unrecorded results, a process that has more of them than workers claims
//! less, and with twice as many nothing.

use crate::worker::{
    finisher::Finished,
    recording::{LONGEST_TRY, Locks},
    shared::Shared,
    watchdog::Pulse,
    writing::write,
};
use std::{collections::VecDeque, sync::Arc, time::Duration};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};

/// Results recorded in one transaction at most.
const MOST: usize = 1_000;
/// Between two rounds in which no lock was waited for (a deadlock, a row that is there already), at first; then twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(3);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Who waits so long is told of, and again after twice as long.
const WORTH_A_LINE: Duration = Duration::from_secs(10);

/// Records what is handed in, until everything is and nobody can hand in more.
pub(super) async fn wait_for_rows(shared: Arc<Shared>, mut results: mpsc::UnboundedReceiver<Finished>) {
    let pulse = shared.pulses.watch("held results");
    let mut held = VecDeque::new();
    let mut patience = Patience::new();
    loop {
        if held.is_empty() {
            shared.set_held(0);
            pulse.rests();
            patience = Patience::new();
            match results.recv().await {
                Some(finished) => held.push_back(finished),
                None => break,
            }
        }
        while let Ok(finished) = results.try_recv() {
            held.push_back(finished);
        }
        shared.set_held(held.len());
        pulse.within(LONGEST_TRY);
        patience.complain(held.len());
        let began_at = Instant::now();
        let count = held.len();
        round(&shared, &pulse, &mut held).await;
        patience.rest(held.len() < count, began_at.elapsed() >= shared.config.lock_wait).await;
    }
    pulse.ended();
}

/// What came free, and the first of the rest.
async fn round(shared: &Shared, pulse: &Pulse<'_>, held: &mut VecDeque<Finished>) {
    for _ in 0..held.len().div_ceil(MOST) {
        let some: Vec<Finished> = held.drain(..held.len().min(MOST)).collect();
        held.extend(write(shared, pulse, some, Locks::Pass).await);
    }
    shared.set_held(held.len());
    if let Some(first) = held.pop_front() {
        held.extend(write(shared, pulse, vec![first], Locks::Queue).await);
    }
}

/// How long it has been, and how soon another round is worth it.
struct Patience {
    since: Instant,
    told_at: Duration,
    pause: Duration,
}

impl Patience {
    fn new() -> Self {
        Self { since: Instant::now(), told_at: WORTH_A_LINE, pause: FIRST_PAUSE }
    }

    async fn rest(&mut self, has_recorded: bool, has_waited: bool) {
        if has_recorded || has_waited {
            self.pause = FIRST_PAUSE;
            return;
        }
        sleep(self.pause.mul_f64(0.5 + rand::random::<f64>())).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    fn complain(&mut self, count: usize) {
        if self.since.elapsed() >= self.told_at {
            let seconds = self.since.elapsed().as_secs();
            tracing::warn!(
                count,
                seconds,
                "{count} results wait to be recorded, the first for {seconds} s: other transactions hold their jobs' rows or serialize keys"
            );
            self.told_at *= 2;
        }
    }
}
