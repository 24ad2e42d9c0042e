//! Reads the newest snapshot each second and hands it to whoever watches.

use super::{HistoryPoint, LiveState, Outage, history::History};
use crate::{
    error::QueueError,
    store::stats::{
        Measures,
        live_snapshots::{self, Written},
    },
};
use chrono::{DateTime, Utc};
use model::stats::Snapshot;
use serde::de::DeserializeOwned;
use sqlx::PgPool;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_util::sync::CancellationToken;

/// Between two looks.
const STEP: Duration = Duration::from_secs(1);
/// A database that does not answer in this time counts as away. Only plain reads are cut short, never a transaction.
const PATIENCE: Duration = Duration::from_secs(5);

/// The process's copy of the newest snapshot. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LiveHub {
    state: watch::Receiver<Arc<LiveState>>,
    history: Arc<Mutex<History>>,
}

impl LiveHub {
    /// Begins to read; the token ends it. Never waits for the database: until it answers the hub is empty and says so.
    #[must_use]
    pub fn start(pool: PgPool, token: CancellationToken) -> Self {
        let (sender, state) = watch::channel(Arc::new(LiveState::empty()));
        let history = Arc::new(Mutex::new(History::default()));
        let mut reader = Reader { pool, sender, history: Arc::clone(&history) };
        tokio::spawn(async move {
            let mut ticks = interval(STEP);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    () = token.cancelled() => return,
                    _ = ticks.tick() => {}
                }
                reader.look().await;
            }
        });
        Self { state, history }
    }

    /// What is known now.
    #[must_use]
    pub fn current(&self) -> Arc<LiveState> {
        Arc::clone(&self.state.borrow())
    }

    /// Changes with each new snapshot, and when the database goes away or comes back. Ends with the hub.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Arc<LiveState>> {
        self.state.clone()
    }

    /// Totals of the last hour, one point a minute, oldest first.
    #[must_use]
    pub fn history(&self) -> Vec<HistoryPoint> {
        locked(&self.history).points()
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
        if locked(&self.history).is_empty() {
            let minutes = live_snapshots::minutes(&self.pool).await?;
            let mut history = locked(&self.history);
            for (at, totals) in minutes {
                history.add(at, totals);
            }
        }
        let seen = known.snapshot.as_ref().map(|snapshot| snapshot.at);
        let seen_measures = known.measures.as_ref().map(|(at, _)| *at);
        let Some(written) = live_snapshots::newest(&self.pool, seen, seen_measures).await? else {
            return Ok(None);
        };
        let snapshot = written.json.as_deref().map(parsed::<Snapshot>).transpose()?;
        let measures = match &written.measures {
            Some((at, Some(json))) => Some((*at, Arc::new(parsed::<Measures>(json)?))),
            _ => known.measures.clone(),
        };
        Ok(Some(Read { written, snapshot, measures }))
    }

    fn tell(&self, known: &LiveState, read: Option<Read>) {
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
        locked(&self.history).add(snapshot.at, snapshot.totals);
        let snapshot = Some(Arc::new(snapshot));
        let next = LiveState { snapshot, json: Arc::from(json), measures, error: None, aged };
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
