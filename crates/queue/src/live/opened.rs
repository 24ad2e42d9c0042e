//! What viewers have open is told of at once, and not with the next snapshot: one look for everything that anybody has open in this process,
//! and none while nobody has anything open.
//!
//! It is looked at instead of told of by those who change it: dozens of statements do, and each of them would have to know what is open, or to
//! notify for nobody. A look reads a few rows by their keys, costs those who write nothing, and sees whatever anybody wrote.

use crate::{error::QueueError, pool, store::opened::marks};
use model::{
    actor::{Role, Scope},
    opened::Opened,
};
use sqlx::PgPool;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Mutex as AsyncMutex, watch},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// Between two looks: a change is shown within 100 ms, reading and sending it included.
pub(super) const EVERY: Duration = Duration::from_millis(40);
/// A look that takes longer is made again.
const LOOK_TIMEOUT: Duration = Duration::from_secs(5);

/// Who is told the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Audience {
    /// Of which apps.
    pub scope: Scope,
    /// In which role.
    pub role: Role,
}

/// What is open, from one change to the next.
#[derive(Debug)]
pub struct Version {
    mark: String,
    told: AsyncMutex<HashMap<Audience, Option<Arc<str>>>>,
}

impl Version {
    /// It as JSON, or none where the audience has no such thing. The first of an audience reads it, the others wait for that and are told the same;
    /// when it could not be read, the next one tries.
    ///
    /// # Errors
    /// Those of `read`.
    pub async fn told<E>(
        &self,
        audience: Audience,
        read: impl Future<Output = Result<Option<String>, E>>,
    ) -> Result<Option<Arc<str>>, E> {
        let mut told = self.told.lock().await;
        if let Some(known) = told.get(&audience) {
            return Ok(known.clone());
        }
        let json: Option<Arc<str>> = read.await?.map(Arc::from);
        told.insert(audience, json.clone());
        Ok(json)
    }
}

/// The newest version of what a viewer has open; none before the first look.
pub type Versions = watch::Receiver<Option<Arc<Version>>>;

/// All that viewers of this process have open.
#[derive(Clone, Debug)]
pub(super) struct OpenedHere {
    /// One connection that keeps the plan of the look: making it took ten times what looking takes.
    pool: PgPool,
    token: CancellationToken,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    versions: HashMap<Opened, watch::Sender<Option<Arc<Version>>>>,
    is_looked_after: bool,
}

impl OpenedHere {
    pub(super) fn new(pool: &PgPool, token: CancellationToken) -> Self {
        Self { pool: pool::probing(pool, 1), token, state: Arc::default() }
    }

    /// From now on, until the last receiver of it is dropped.
    pub(super) fn open(&self, opened: Opened) -> Versions {
        let mut state = self.lock();
        if !std::mem::replace(&mut state.is_looked_after, true) {
            tokio::spawn(self.clone().look_after());
        }
        state.versions.entry(opened).or_default().subscribe()
    }

    async fn look_after(self) {
        while let Some(opened) = self.opened() {
            let looked = timeout(LOOK_TIMEOUT, marks(&self.pool, &opened)).await;
            match looked.unwrap_or(Err(QueueError::Timeout)) {
                Ok(marks) => self.tell(marks),
                // The hub says that the database is away.
                Err(error) => tracing::debug!(%error, "what is open could not be looked at"),
            }
            tokio::select! {
                () = self.token.cancelled() => return,
                () = sleep(EVERY) => {}
            }
        }
    }

    /// None when nobody has anything open: then nobody looks any more.
    fn opened(&self) -> Option<Vec<Opened>> {
        let mut state = self.lock();
        state.versions.retain(|_, versions| versions.receiver_count() > 0);
        state.is_looked_after = !state.versions.is_empty();
        state.is_looked_after.then(|| state.versions.keys().copied().collect())
    }

    fn tell(&self, marks: HashMap<Opened, String>) {
        let state = self.lock();
        for (opened, mark) in marks {
            let Some(versions) = state.versions.get(&opened) else { continue };
            versions.send_if_modified(|version| {
                let is_news = version.as_ref().is_none_or(|version| version.mark != mark);
                if is_news {
                    *version = Some(Arc::new(Version { mark, told: AsyncMutex::default() }));
                }
                is_news
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
