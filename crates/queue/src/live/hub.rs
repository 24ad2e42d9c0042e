//! Reads each snapshot when it is due and hands it to whoever watches.

use super::{LiveState, Outage, SnapshotInterval, Versions, Yesterday, history::History, opened::OpenedHere};
use crate::{
    error::QueueError,
    store::stats::{
        self, Measures,
        live_snapshots::{self, Written},
        minutes::{self, minute},
    },
};
use chrono::{DateTime, TimeDelta, Utc};
use model::{
    id::IntegrationId,
    opened::Opened,
    snapshot_changes::SnapshotChanges,
    stats::{FlowMinute, MinuteTotals, Snapshot},
};
use serde::de::DeserializeOwned;
use sqlx::PgPool;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// Between two looks while nobody samples.
const POLL: Duration = Duration::from_secs(1);
/// From when the sampler begins to read one until it is written, mostly.
const TAKES: Duration = Duration::from_millis(50);
/// Between two looks for one that is late.
const AGAIN: Duration = Duration::from_millis(100);
/// A database that does not answer in this time counts as away. Only plain reads are cut short, never a transaction.
const PATIENCE: Duration = Duration::from_secs(5);

/// The process's copy of the newest snapshot. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LiveHub {
    state: watch::Receiver<Arc<LiveState>>,
    history: Arc<Mutex<History>>,
    opened: OpenedHere,
}

impl LiveHub {
    /// Begins to read; the token ends it. Never waits for the database: until it answers the hub is empty and says so.
    #[must_use]
    pub fn start(pool: PgPool, token: CancellationToken) -> Self {
        let (sender, state) = watch::channel(Arc::new(LiveState::empty()));
        let history = Arc::new(Mutex::new(History::default()));
        let opened = OpenedHere::new(&pool, token.clone());
        let mut reader = Reader {
            pool,
            sender,
            history: Arc::clone(&history),
            interval: SnapshotInterval::default(),
            due: POLL,
        };
        tokio::spawn(async move {
            loop {
                reader.look().await;
                let age = reader.sender.borrow().age();
                tokio::select! {
                    () = token.cancelled() => return,
                    () = sleep(until_next(age, reader.due)) => {}
                }
            }
        });
        Self { state, history, opened }
    }

    /// What is known now.
    #[must_use]
    pub fn current(&self) -> Arc<LiveState> {
        Arc::clone(&self.state.borrow())
    }

    /// The sampler's newest snapshot; while there is none, or nobody samples, one that is read now.
    ///
    /// # Errors
    /// The database's, when it had to be asked.
    pub async fn snapshot(&self, pool: &PgPool) -> Result<Arc<Snapshot>, QueueError> {
        let state = self.current();
        match &state.snapshot {
            Some(snapshot) if !state.is_stale() => Ok(Arc::clone(snapshot)),
            _ => Ok(Arc::new(stats::snapshot(pool).await?)),
        }
    }

    /// Changes with each new snapshot, and when the database goes away or comes back. Ends with the hub.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Arc<LiveState>> {
        self.state.clone()
    }

    /// Changes, some forty milliseconds later at most, with each change of what a viewer has open, for as long as the receiver is kept: one small
    /// query each time for all that is open in this process.
    #[must_use]
    pub fn open(&self, opened: Opened) -> Versions {
        self.opened.open(opened)
    }

    /// Totals of the last hour, one point a minute, oldest first; a minute that nobody sampled is left out.
    #[must_use]
    pub fn history(&self) -> Vec<MinuteTotals> {
        locked(&self.history).totals()
    }

    /// One integration's backlog in the last hour, one point a minute, oldest first; without a look into the database.
    #[must_use]
    pub fn backlogs(&self, id: IntegrationId) -> Vec<(DateTime<Utc>, i64)> {
        locked(&self.history).backlogs(id)
    }

    /// What came in for one integration and what went out in the last hour, a minute each, oldest first; minutes that nobody knows of are left
    /// out.
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

/// Until the next look, by the age of the newest snapshot and the time to the next one: a look comes when the sampler has just written. A clock
/// of its own beside the sampler's would make a change twice as old before anybody sees it.
fn until_next(age: Option<Duration>, interval: Duration) -> Duration {
    let due = interval + TAKES;
    match age {
        Some(age) if age < due => due - age,
        Some(age) if age < due + POLL => AGAIN,
        // Nobody samples, or one takes that long.
        _ => POLL,
    }
}

/// What one look saw.
struct Read {
    written: Written,
    snapshot: Option<Snapshot>,
    measures: Option<(DateTime<Utc>, Arc<Measures>)>,
}

/// A row of a newer version, while processes of both run, may not be readable.
fn parsed<T: DeserializeOwned>(json: &str) -> Result<T, QueueError> {
    serde_json::from_str(json).map_err(|error| QueueError::Database(sqlx::Error::Decode(Box::new(error))))
}

struct Reader {
    pool: PgPool,
    sender: watch::Sender<Arc<LiveState>>,
    history: Arc<Mutex<History>>,
    interval: SnapshotInterval,
    /// From the newest snapshot to the next one.
    due: Duration,
}

impl Reader {
    async fn look(&mut self) {
        let known = Arc::clone(&self.sender.borrow());
        let looked = timeout(PATIENCE, self.read(&known)).await;
        match looked.unwrap_or(Err(QueueError::Timeout)) {
            Ok(read) => self.tell(&known, read),
            Err(error) => self.tell_outage(&known, &error),
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
            self.remember(snapshot).await?;
        }
        let measures = match &written.measures {
            Some((at, Some(json))) => Some((*at, Arc::new(parsed::<Measures>(json)?))),
            _ => known.measures.clone(),
        };
        Ok(Some(Read { written, snapshot, measures }))
    }

    /// The past as the snapshot's minute sees it: what was recorded of it the first time, and then minute by minute.
    async fn remember(&self, snapshot: &Snapshot) -> Result<(), QueueError> {
        let (hour, day) = (TimeDelta::hours(1), TimeDelta::days(1));
        let now = minute(snapshot.at);
        if locked(&self.history).is_empty() {
            let totals = minutes::totals(&self.pool, now - hour, now).await?;
            let moments = minutes::moments(&self.pool, now - hour, now).await?;
            let snapshots: Vec<_> = moments.into_iter().map(|moment| moment.snapshot).collect();
            locked(&self.history).begin(totals, &snapshots);
        }
        locked(&self.history).add(snapshot);
        if locked(&self.history).wants_yesterday_of(now) {
            let yesterday = Yesterday {
                minutes: minutes::totals(&self.pool, now - day - hour, now - day).await?,
                retry_pyramid: minutes::retry_pyramid(&self.pool, now - day).await?,
                read_for: Some(now),
            };
            locked(&self.history).set_yesterday(yesterday);
        }
        Ok(())
    }

    fn tell(&mut self, known: &LiveState, read: Option<Read>) {
        let (aged, snapshot, json, measures) = match read {
            Some(Read { written, snapshot, measures }) => {
                (Some((written.age, Instant::now())), snapshot, written.json, measures)
            }
            None => (known.aged, None, None, known.measures.clone()),
        };
        let Some((snapshot, json)) = snapshot.zip(json) else {
            // Nothing newer; only the end of an outage is news.
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

    fn tell_outage(&self, known: &LiveState, error: &QueueError) {
        if known.error.is_some() {
            return;
        }
        tracing::warn!(%error, "live numbers cannot be read: the last ones stay");
        let outage = Outage { since: Utc::now(), message: error.to_string() };
        self.sender.send_replace(Arc::new(LiveState { error: Some(outage), ..known.clone() }));
    }
}

/// Every change of the history is whole: a panic elsewhere does not spoil it.
fn locked(history: &Mutex<History>) -> MutexGuard<'_, History> {
    history.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_comes_when_the_next_snapshot_is_due() {
        let millis = Duration::from_millis;
        for (age, wait) in
            [(30, 1_020), (900, 150), (1_049, 1), (1_050, 100), (2_000, 100), (2_050, 1_000), (60_000, 1_000)]
        {
            assert_eq!(until_next(Some(millis(age)), POLL), millis(wait), "{age}");
        }
        for (age, wait) in [(30, 520), (549, 1), (550, 100), (1_549, 100), (1_550, 1_000)] {
            assert_eq!(
                until_next(Some(millis(age)), millis(500)),
                millis(wait),
                "{age} while something moves"
            );
        }
        assert_eq!(until_next(None, POLL), POLL);
    }
}
