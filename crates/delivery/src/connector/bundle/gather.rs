//! Where the jobs of one claim meet: each hands its item in or leaves, and whoever left holds nobody up.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use chrono::{DateTime, Utc};
use model::id::JobId;
use queue::worker::HeldJob;
use tokio::{
    sync::{Notify, oneshot},
    time::timeout,
};

use super::{Item, carry::carry};
use crate::{
    Delivery,
    connector::{outcome::Judged, stop::Stop},
};

/// So long without anyone deciding, and those who have go without the rest. Beyond what a busy database takes for one more answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a job learns of the request it was part of.
pub(super) type Told = Result<Judged, Stop>;

/// An item and who waits for what becomes of it.
pub(super) struct HandedIn {
    pub(super) item: Item,
    pub(super) answer: oneshot::Sender<Told>,
}

/// The jobs of one integration that came with one claim.
pub(super) struct Group {
    state: Mutex<State>,
    changed: Notify,
}

/// In the order of acceptance.
type Position = (DateTime<Utc>, JobId);

struct State {
    /// Those of whom it is not known yet whether they have something to tell.
    undecided: usize,
    waiting: BTreeMap<Position, HandedIn>,
    /// Whether a task sends for this group. Never two: requests at once are what `max_concurrency` counts.
    is_carried: bool,
}

impl Group {
    fn of(count: usize) -> Self {
        let state = State { undecided: count, waiting: BTreeMap::new(), is_carried: false };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was handed in once everybody has decided, or nobody did for a while. None: nothing, and whoever comes later has to see to
    /// it that somebody carries.
    pub(super) async fn gathered(&self) -> Option<Vec<HandedIn>> {
        loop {
            let changed = self.changed.notified();
            let is_decided = self.lock().undecided == 0;
            if is_decided || timeout(PATIENCE, changed).await.is_err() {
                let mut state = self.lock();
                let items: Vec<HandedIn> = std::mem::take(&mut state.waiting).into_values().collect();
                state.is_carried = !items.is_empty();
                return state.is_carried.then_some(items);
            }
        }
    }

    /// Nobody carries any more, whatever is left.
    pub(super) fn let_down(&self) {
        let mut state = self.lock();
        state.is_carried = false;
        state.waiting.clear();
    }
}

/// A job's place in its group. Dropped, the group does not wait for the job any longer, and sends nothing for it that is not on its way.
pub(in crate::connector) struct Place {
    group: Arc<Group>,
    position: Position,
    has_decided: bool,
}

impl Place {
    pub(in crate::connector) fn take(job: &HeldJob) -> Self {
        // Alone where another handler does the others.
        let group = job.peers().share(Group::of).unwrap_or_else(|| Arc::new(Group::of(1)));
        Self { group, position: (job.created_at, job.id), has_decided: false }
    }

    /// Hands an item in and waits for what becomes of it.
    pub(in crate::connector) async fn hand_in(mut self, delivery: &Delivery, item: Item) -> Told {
        let (answer, answered) = oneshot::channel();
        {
            let mut state = self.group.lock();
            state.undecided = state.undecided.saturating_sub(1);
            self.has_decided = true;
            state.waiting.insert(self.position, HandedIn { item, answer });
            if !state.is_carried {
                state.is_carried = true;
                tokio::spawn(carry(delivery.clone(), Arc::clone(&self.group)));
            }
        }
        self.group.changed.notify_one();
        // Dropped unanswered: the carrier panicked. What it had told stays in doubt.
        answered.await.unwrap_or_else(|_| {
            Err(Stop::Retry("the request it was part of was broken off: its task panicked".to_owned()))
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.group.lock();
        if self.has_decided {
            state.waiting.remove(&self.position);
        } else {
            state.undecided = state.undecided.saturating_sub(1);
        }
        drop(state);
        self.group.changed.notify_one();
    }
}
