//! Announces changes of what viewers have open at once, and not with the next snapshot: one poll for everything that is open in this process, and
//! none while nothing is.
//!
//! It is polled rather than notified by writers: dozens of statements change such rows, and each would have to know what is open, or to notify
//! nobody. A poll reads a few rows by key, costs the writers nothing, and sees whatever was written.

use crate::store::opened::row_versions;
use model::actor::{Role, Scope};
use model::opened::Opened;
use queue::{error::QueueError, mutex::lock, store::connections::for_lookups};
use sqlx::PgPool;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Short enough to show a change within 100 ms, including the time to read and send it.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(40);
const POLL_TIMEOUT: Duration = Duration::from_secs(5);

/// Viewers that get the same JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Audience {
    /// The apps they may see.
    pub scope: Scope,
    /// Their role.
    pub role: Role,
}

/// One version of what is open: valid until the next change.
#[derive(Debug)]
pub struct Version {
    row_version: String,
    json: AsyncMutex<HashMap<Audience, Option<Arc<str>>>>,
}

impl Version {
    /// The JSON of this version; none if it does not exist for the audience. The first caller of an audience reads it, the others wait for the result;
    /// if that failed, the next one tries.
    ///
    /// # Errors
    /// Those of `read`.
    pub async fn json_for<E>(
        &self,
        audience: Audience,
        read: impl Future<Output = Result<Option<String>, E>>,
    ) -> Result<Option<Arc<str>>, E> {
        let mut by_audience = self.json.lock().await;
        if let Some(known) = by_audience.get(&audience) {
            return Ok(known.clone());
        }
        let json: Option<Arc<str>> = read.await?.map(Arc::from);
        by_audience.insert(audience, json.clone());
        Ok(json)
    }
}

/// The newest version of what a viewer has open; none before the first poll.
pub type Versions = watch::Receiver<Option<Arc<Version>>>;

/// Everything that viewers of this process have open.
#[derive(Clone, Debug)]
pub(super) struct OpenItems {
    /// One connection that keeps the plan of the poll: planning took ten times as long as executing.
    pool: PgPool,
    token: CancellationToken,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    versions: HashMap<Opened, watch::Sender<Option<Arc<Version>>>>,
    is_polled: bool,
}

impl OpenItems {
    pub(super) fn new(pool: &PgPool, token: CancellationToken) -> Self {
        Self { pool: for_lookups(pool, 1), token, state: Arc::default() }
    }

    /// Polls it until its last receiver is dropped.
    pub(super) fn open(&self, opened: Opened) -> Versions {
        let mut state = self.lock();
        if !std::mem::replace(&mut state.is_polled, true) {
            tokio::spawn(self.clone().poll());
        }
        state.versions.entry(opened).or_default().subscribe()
    }

    async fn poll(self) {
        while let Some(opened) = self.open_items() {
            let polled = timeout(POLL_TIMEOUT, row_versions(&self.pool, &opened)).await;
            match polled.unwrap_or(Err(QueueError::Timeout)) {
                Ok(row_versions) => self.publish(row_versions),
                // The hub warns that the database is away.
                Err(error) => tracing::debug!(%error, "open items could not be polled"),
            }
            tokio::select! {
                () = self.token.cancelled() => return,
                () = sleep(POLL_INTERVAL) => {}
            }
        }
    }

    /// None when nothing is open: then the polling ends.
    fn open_items(&self) -> Option<Vec<Opened>> {
        let mut state = self.lock();
        state.versions.retain(|_, versions| versions.receiver_count() > 0);
        state.is_polled = !state.versions.is_empty();
        state.is_polled.then(|| state.versions.keys().copied().collect())
    }

    fn publish(&self, row_versions: HashMap<Opened, String>) {
        let state = self.lock();
        for (opened, row_version) in row_versions {
            let Some(versions) = state.versions.get(&opened) else { continue };
            versions.send_if_modified(|version| {
                let is_news = version.as_ref().is_none_or(|version| version.row_version != row_version);
                if is_news {
                    *version = Some(Arc::new(Version { row_version, json: AsyncMutex::default() }));
                }
                is_news
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}
