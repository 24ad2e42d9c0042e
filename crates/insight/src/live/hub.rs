//! Reads each snapshot when it is due and publishes it to subscribers.

use super::{LiveState, Outage, SnapshotInterval, Versions, Yesterday, history::History, opened::OpenItems};
use crate::store::stats::live_snapshots::{self, Written};
use crate::store::stats::minutes::{self, minute};
use crate::store::stats::{self, Measures};
use chrono::{DateTime, TimeDelta, Utc};
use model::id::IntegrationId;
use model::opened::Opened;
use model::snapshot_changes::SnapshotChanges;
use model::stats::{FlowMinute, MinuteTotals, Snapshot};
use queue::{error::QueueError, mutex::lock};
use serde::de::DeserializeOwned;
use sqlx::PgPool;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Between two polls while no process samples.
const IDLE_POLL: Duration = Duration::from_secs(1);
/// How long the sampler usually takes to read and write a snapshot.
const SAMPLING_TIME: Duration = Duration::from_millis(50);
/// Between two polls for a snapshot that is late.
const LATE_POLL: Duration = Duration::from_millis(100);
/// A database that does not answer in this time counts as away. Only plain reads are cut short, never a transaction.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// The process's copy of the newest snapshot. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LiveHub {
    state: watch::Receiver<Arc<LiveState>>,
    history: Arc<Mutex<History>>,
    opened: OpenItems,
}

impl LiveHub {
    /// Starts to read; the token ends it. It does not wait for the database: until that answers the hub is empty.
    #[must_use]
    pub fn start(pool: PgPool, token: CancellationToken) -> Self {
        let (sender, state) = watch::channel(Arc::new(LiveState::empty()));
        let history = Arc::new(Mutex::new(History::default()));
        let opened = OpenItems::new(&pool, token.clone());
        let mut reader = Reader {
            pool,
            sender,
            history: Arc::clone(&history),
            interval: SnapshotInterval::default(),
            due: IDLE_POLL,
        };
        tokio::spawn(async move {
            loop {
                reader.poll().await;
                let age = reader.sender.borrow().age();
                tokio::select! {
                    () = token.cancelled() => return,
                    () = sleep(until_next(age, reader.due)) => {}
                }
            }
        });
        Self { state, history, opened }
    }

    /// The current state.
    #[must_use]
    pub fn current(&self) -> Arc<LiveState> {
        Arc::clone(&self.state.borrow())
    }

    /// The sampler's newest snapshot; while there is none, or no process samples, one that is computed now.
    pub async fn snapshot(&self, pool: &PgPool) -> Result<Arc<Snapshot>, QueueError> {
        let state = self.current();
        match &state.snapshot {
            Some(snapshot) if !state.is_stale() => Ok(Arc::clone(snapshot)),
            _ => Ok(Arc::new(stats::snapshot(pool).await?)),
        }
    }

    /// A receiver that changes with each new snapshot, and when the database goes away or comes back. Ends with the hub.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Arc<LiveState>> {
        self.state.clone()
    }

    /// A receiver that changes, at most some forty milliseconds late, with each change of what a viewer has open. As long as it exists, each poll costs
    /// one small query for everything that is open in this process.
    #[must_use]
    pub fn open(&self, opened: Opened) -> Versions {
        self.opened.open(opened)
    }

    /// Totals of the last hour, one point a minute, oldest first, without minutes that were not sampled.
    #[must_use]
    pub fn history(&self) -> Vec<MinuteTotals> {
        locked(&self.history).totals()
    }

    /// One integration's backlog in the last hour, one point a minute, oldest first; from memory.
    #[must_use]
    pub fn backlogs(&self, id: IntegrationId) -> Vec<(DateTime<Utc>, i64)> {
        locked(&self.history).backlogs(id)
    }

    /// What came in for one integration and what went out in the last hour, one point a minute, oldest first, without minutes that were not sampled.
    #[must_use]
    pub fn flow(&self, id: IntegrationId) -> Vec<FlowMinute> {
        locked(&self.history).flow(id)
    }

    /// The hour that ended a day ago, read once a minute.
    #[must_use]
    pub fn yesterday(&self) -> Yesterday {
        locked(&self.history).yesterday()
    }
}

/// The time until the next poll, which is to come when the sampler has just written. Polling at an interval of its own would double the age of a
/// change before it is seen.
fn until_next(age: Option<Duration>, interval: Duration) -> Duration {
    let due = interval + SAMPLING_TIME;
    match age {
        Some(age) if age < due => due - age,
        Some(age) if age < due + IDLE_POLL => LATE_POLL,
        // No process samples, or a snapshot takes that long.
        _ => IDLE_POLL,
    }
}

struct Read {
    written: Written,
    snapshot: Option<Snapshot>,
    measures: Option<(DateTime<Utc>, Arc<Measures>)>,
}

/// A row that a newer version wrote, during a rolling upgrade, may not parse.
fn parsed<T: DeserializeOwned>(json: &str) -> Result<T, QueueError> {
    serde_json::from_str(json).map_err(|error| QueueError::Database(sqlx::Error::Decode(Box::new(error))))
}

struct Reader {
    pool: PgPool,
    sender: watch::Sender<Arc<LiveState>>,
    history: Arc<Mutex<History>>,
    interval: SnapshotInterval,
    /// The interval between the newest snapshot and the next one.
    due: Duration,
}

impl Reader {
    async fn poll(&mut self) {
        let known = Arc::clone(&self.sender.borrow());
        let read_result = timeout(READ_TIMEOUT, self.read(&known)).await;
        match read_result.unwrap_or(Err(QueueError::Timeout)) {
            Ok(read) => self.publish(&known, read),
            Err(error) => self.publish_outage(&known, &error),
        }
    }

    async fn read(&self, known: &LiveState) -> Result<Option<Read>, QueueError> {
        let seen = known.snapshot.as_ref().map(|snapshot| snapshot.at);
        let seen_measures = known.measures.as_ref().map(|(at, _)| *at);
        let Some(written) = live_snapshots::newest(&self.pool, seen, seen_measures).await? else {
            return Ok(None);
        };
        let snapshot = written.json.as_deref().map(parsed::<Snapshot>).transpose()?;
        if let Some(snapshot) = &snapshot {
            self.add_to_history(snapshot).await?;
        }
        let measures = match &written.measures {
            Some((at, Some(json))) => Some((*at, Arc::new(parsed::<Measures>(json)?))),
            _ => known.measures.clone(),
        };
        Ok(Some(Read { written, snapshot, measures }))
    }

    /// Adds the snapshot to the history. The first time it loads the recorded hour before it.
    async fn add_to_history(&self, snapshot: &Snapshot) -> Result<(), QueueError> {
        let (hour, day) = (TimeDelta::hours(1), TimeDelta::days(1));
        let now = minute(snapshot.at);
        if locked(&self.history).is_empty() {
            let totals = minutes::totals(&self.pool, now - hour, now).await?;
            let moments = minutes::moments(&self.pool, now - hour, now).await?;
            let snapshots: Vec<_> = moments.into_iter().map(|moment| moment.snapshot).collect();
            locked(&self.history).load(totals, &snapshots);
        }
        locked(&self.history).add(snapshot);
        if locked(&self.history).needs_yesterday_for(now) {
            let yesterday = Yesterday {
                minutes: minutes::totals(&self.pool, now - day - hour, now - day).await?,
                retry_pyramid: minutes::retry_pyramid(&self.pool, now - day).await?,
                read_for: Some(now),
            };
            locked(&self.history).set_yesterday(yesterday);
        }
        Ok(())
    }

    fn publish(&mut self, known: &LiveState, read: Option<Read>) {
        let (aged, snapshot, json, measures) = match read {
            Some(Read { written, snapshot, measures }) => {
                (Some((written.age, Instant::now())), snapshot, written.json, measures)
            }
            None => (known.aged, None, None, known.measures.clone()),
        };
        let Some((snapshot, json)) = snapshot.zip(json) else {
            // Nothing newer: subscribers are notified only of the end of an outage.
            let next = LiveState { error: None, aged, measures, ..known.clone() };
            let is_news = known.error.is_some();
            self.sender.send_if_modified(|state| {
                *state = Arc::new(next);
                is_news
            });
            return;
        };
        self.due = self.interval.after(&snapshot);
        let changes = known.snapshot.as_ref().and_then(|before| {
            let changes = SnapshotChanges::between(before, &snapshot);
            Some((before.at, Arc::from(serde_json::to_string(&changes).ok()?)))
        });
        let snapshot = Some(Arc::new(snapshot));
        let parts = Arc::default();
        let next = LiveState { snapshot, json: Arc::from(json), parts, changes, measures, error: None, aged };
        self.sender.send_replace(Arc::new(next));
    }

    fn publish_outage(&self, known: &LiveState, error: &QueueError) {
        if known.error.is_some() {
            return;
        }
        tracing::warn!(%error, "live numbers cannot be read: the last ones are kept");
        let outage = Outage { since: Utc::now(), message: error.to_string() };
        self.sender.send_replace(Arc::new(LiveState { error: Some(outage), ..known.clone() }));
    }
}

/// The history is never left half-changed, so a poisoned lock can be used.
fn locked(history: &Mutex<History>) -> MutexGuard<'_, History> {
    lock(history)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_comes_when_the_next_snapshot_is_due() {
        let millis = Duration::from_millis;
        for (age, wait) in
            [(30, 1_020), (900, 150), (1_049, 1), (1_050, 100), (2_000, 100), (2_050, 1_000), (60_000, 1_000)]
        {
            assert_eq!(until_next(Some(millis(age)), IDLE_POLL), millis(wait), "{age}");
        }
        for (age, wait) in [(30, 520), (549, 1), (550, 100), (1_549, 100), (1_550, 1_000)] {
            assert_eq!(
                until_next(Some(millis(age)), millis(500)),
                millis(wait),
                "{age} while something moves"
            );
        }
        assert_eq!(until_next(None, IDLE_POLL), IDLE_POLL);
    }
}
