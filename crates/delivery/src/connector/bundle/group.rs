//! Gathers the items of the jobs of one claim: each job submits its item or leaves, and the group waits for none that left.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use chrono::{DateTime, Utc};
use model::id::JobId;
use queue::mutex::lock;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use super::Item;
use crate::connector::{outcome::Judged, stop::Stop};

/// When no job decides for so long, the items submitted by then are sent without the rest. Longer than a busy database takes to answer.
const DECISION_TIMEOUT: Duration = Duration::from_secs(1);

/// The result of the request that carried a job's item.
pub(super) type ItemResult = Result<Judged, Stop>;

pub(super) struct SubmittedItem {
    pub(super) item: Item,
    pub(super) answer: oneshot::Sender<ItemResult>,
    /// A request with this item and others was refused: the receiver may have accepted the item before it refused.
    pub(super) was_refused_with_others: bool,
}

/// The jobs of one integration that were claimed together.
pub(super) struct Group {
    state: Mutex<State>,
    changed: Notify,
}

/// Sorts items in the order of acceptance.
pub(super) type Position = (DateTime<Utc>, JobId);

struct State {
    /// Jobs of which it is not known yet whether they have something to send.
    undecided: usize,
    waiting: BTreeMap<Position, SubmittedItem>,
    /// Whether a task sends for this group. Never two, since `max_concurrency` counts concurrent requests.
    has_sender: bool,
}

impl Group {
    pub(super) fn of(count: usize) -> Self {
        let state = State { undecided: count, waiting: BTreeMap::new(), has_sender: false };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Takes the item of a job that is undecided yet. Returns also whether a task sends for the group already; otherwise the caller has to
    /// start one.
    pub(super) fn submit(&self, position: Position, item: Item) -> (oneshot::Receiver<ItemResult>, bool) {
        let (answer, answered) = oneshot::channel();
        let mut state = self.lock();
        state.undecided = state.undecided.saturating_sub(1);
        state.waiting.insert(position, SubmittedItem { item, answer, was_refused_with_others: false });
        let had_sender = std::mem::replace(&mut state.has_sender, true);
        drop(state);
        self.changed.notify_one();
        (answered, had_sender)
    }

    /// Waits for a job no longer, nor sends its item.
    pub(super) fn leave(&self, position: &Position, has_decided: bool) {
        let mut state = self.lock();
        if has_decided {
            state.waiting.remove(position);
        } else {
            state.undecided = state.undecided.saturating_sub(1);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// The submitted items, once all jobs have decided or none did for [`DECISION_TIMEOUT`]. None: there are none, and a job that submits
    /// later has to start a sender.
    pub(super) async fn next_items(&self) -> Option<Vec<SubmittedItem>> {
        loop {
            let changed = self.changed.notified();
            let is_decided = self.lock().undecided == 0;
            if is_decided || timeout(DECISION_TIMEOUT, changed).await.is_err() {
                let mut state = self.lock();
                let items: Vec<SubmittedItem> = std::mem::take(&mut state.waiting).into_values().collect();
                state.has_sender = !items.is_empty();
                return state.has_sender.then_some(items);
            }
        }
    }

    /// The sender is gone: drops the items left, so that their jobs do not wait.
    pub(super) fn abort(&self) {
        let mut state = self.lock();
        state.has_sender = false;
        state.waiting.clear();
    }
}
