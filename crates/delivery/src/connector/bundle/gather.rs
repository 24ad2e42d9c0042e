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
    /// A request that told of it and of others was refused: it may have been taken in before that.
    pub(super) was_refused_with_others: bool,
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
        let (answered, is_carried) = self.put(item);
        if !is_carried {
            tokio::spawn(carry(delivery.clone(), Arc::clone(&self.group)));
        }
        // Dropped unanswered: the carrier panicked. What it had told stays in doubt.
        answered.await.unwrap_or_else(|_| {
            Err(Stop::Retry("the request it was part of was broken off: its task panicked".to_owned()))
        })
    }

    /// Answers whether somebody carried already; otherwise the caller has to see to it.
    fn put(&mut self, item: Item) -> (oneshot::Receiver<Told>, bool) {
        let (answer, answered) = oneshot::channel();
        let mut state = self.group.lock();
        state.undecided = state.undecided.saturating_sub(1);
        self.has_decided = true;
        state.waiting.insert(self.position, HandedIn { item, answer, was_refused_with_others: false });
        let was_carried = std::mem::replace(&mut state.is_carried, true);
        drop(state);
        self.group.changed.notify_one();
        (answered, was_carried)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        connector::bundle::Address, database_time::DatabaseTime, store::integrations::SealedSecrets,
    };
    use model::id::{AppId, AssignmentId, ClaimBatchId, IntegrationId};
    use queue::{store::jobs::ClaimedJob, worker::Slots};

    fn held() -> HeldJob {
        let now = Utc::now();
        let job = ClaimedJob {
            claim_batch_id: ClaimBatchId::generate(),
            id: JobId::generate(),
            app_id: AppId::generate(),
            integration_id: IntegrationId::generate(),
            batch_id: None,
            assignment_id: AssignmentId::generate(),
            created_at: now,
            rank: 0,
            run_at: now,
            is_expired: false,
            is_limited: false,
            is_probe: false,
            started_at: now,
            timeout_ms: None,
            attempt: 1,
            max_attempts: 10,
            may_have_arrived: false,
            is_full: false,
            job_type: "record.updated".into(),
            record_type: Some("product".into()),
            record_id: Some("1".into()),
            deduplication_id: None,
            serialize_key: None,
            correlation_id: "c".into(),
            trace: None,
            payload: None,
        };
        HeldJob::new(job, Duration::from_secs(30), Slots::unlimited(), Arc::default())
    }

    fn place(group: &Arc<Group>, job: &HeldJob) -> Place {
        Place { group: Arc::clone(group), position: (job.created_at, job.id), has_decided: false }
    }

    fn item(job: &HeldJob) -> Item {
        let secrets = SealedSecrets {
            signing_secret: vec![],
            previous_secrets: vec![],
            previous_until: vec![],
            credentials: None,
        };
        let address = Address {
            integration_id: job.integration_id,
            time: DatabaseTime::told(job.created_at),
            url: String::new(),
            headers: BTreeMap::new(),
            secrets,
        };
        Item {
            job_id: job.id,
            correlation_id: job.correlation_id.clone(),
            trace: job.trace,
            timeout: job.timeout,
            body: b"{}".to_vec(),
            told: None,
            address: Arc::new(address),
            right: job.send_right(),
        }
    }

    fn ids(items: &[HandedIn]) -> Vec<JobId> {
        items.iter().map(|one| one.item.job_id).collect()
    }

    #[tokio::test]
    async fn those_with_something_to_tell_go_in_order_once_all_have_decided() {
        let jobs = [held(), held(), held(), held()];
        let group = Arc::new(Group::of(jobs.len()));
        let [mut first, mut second, third, mut fourth] = jobs.each_ref().map(|job| place(&group, job));
        let (_answered, is_carried) = second.put(item(&jobs[1]));
        assert!(!is_carried, "the first to hand in sees to a carrier");
        assert!(first.put(item(&jobs[0])).1, "and nobody else");
        drop(third);
        let gathering = tokio::spawn({
            let group = Arc::clone(&group);
            async move { group.gathered().await.map(|items| ids(&items)) }
        });
        let (given_up, _) = fourth.put(item(&jobs[3]));
        drop((given_up, fourth));
        // The fourth was stopped after all: nothing is sent for it, unless it is on its way already.
        let went = gathering.await.unwrap().unwrap();
        assert_eq!(went[..2], [jobs[0].id, jobs[1].id]);
        assert!(group.gathered().await.is_none());
    }

    #[tokio::test]
    async fn whoever_does_not_decide_holds_nobody_up_and_goes_by_itself() {
        let jobs = [held(), held()];
        let group = Arc::new(Group::of(2));
        let [mut early, mut late] = jobs.each_ref().map(|job| place(&group, job));
        let (_answered, _) = early.put(item(&jobs[0]));
        assert_eq!(ids(&group.gathered().await.unwrap()), [jobs[0].id]);
        let (_answered, is_carried) = late.put(item(&jobs[1]));
        assert!(is_carried, "by the carrier of the others, after them: never two requests at once");
        assert_eq!(ids(&group.gathered().await.unwrap()), [jobs[1].id]);
        assert!(group.gathered().await.is_none());
        let again = held();
        assert!(!place(&group, &again).put(item(&again)).1, "nobody carries any more");
    }

    #[tokio::test]
    async fn a_carrier_that_breaks_down_leaves_nobody_waiting() {
        let job = held();
        let group = Arc::new(Group::of(1));
        let mut waiting = place(&group, &job);
        let (answered, _) = waiting.put(item(&job));
        group.let_down();
        assert!(answered.await.is_err());
        let next = held();
        assert!(!place(&group, &next).put(item(&next)).1, "the next has a carrier again");
    }
}
