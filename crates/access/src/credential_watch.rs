//! Ends live streams whose credential has ended: signed out, revoked, expired, or of a user whose role changed.
//!
//! One task checks the credentials of all streams of this process twice a second; it does not run while there are none.

use crate::store::{api_keys, sessions};
use crate::token;
use model::actor::{Actor, ActorKind};
use model::id::ApiKeyId;
use queue::mutex::lock;
use sqlx::PgPool;
use std::collections::HashMap;
use std::future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

/// A stream whose credential has ended is closed within a second.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Credential {
    Session([u8; 32]),
    Key(ApiKeyId),
}

/// Waits for the end of one credential.
pub struct CredentialWatch(Kind);

enum Kind {
    NeverEnds,
    Until(watch::Receiver<()>),
}

impl CredentialWatch {
    /// Returns when the credential has ended. While the database is away, none ends.
    pub async fn ended(&mut self) {
        match &mut self.0 {
            Kind::NeverEnds => future::pending().await,
            // Nothing is ever sent: the sender is dropped when the credential has ended.
            Kind::Until(receiver) => while receiver.changed().await.is_ok() {},
        }
    }
}

#[derive(Clone, Default)]
pub(crate) struct CredentialWatches(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    watched: HashMap<Credential, watch::Sender<()>>,
    is_running: bool,
}

impl CredentialWatches {
    pub(crate) fn watch(&self, pool: &PgPool, actor: &Actor, session: Option<&str>) -> CredentialWatch {
        let credential = match (actor.kind, session) {
            (ActorKind::AdminKey | ActorKind::System, _) => return CredentialWatch(Kind::NeverEnds),
            (ActorKind::ApiKey(id), _) => Credential::Key(id),
            (ActorKind::User(_), session) => Credential::Session(token::hash(session.unwrap_or_default())),
        };
        let mut state = self.lock();
        if !std::mem::replace(&mut state.is_running, true) {
            tokio::spawn(run(self.clone(), pool.clone()));
        }
        let sender = state.watched.entry(credential).or_insert_with(|| watch::Sender::new(()));
        CredentialWatch(Kind::Until(sender.subscribe()))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }

    /// Credentials to check. `None` when there is no stream: then the task ends.
    fn watched(&self) -> Option<Vec<Credential>> {
        let mut state = self.lock();
        state.watched.retain(|_, sender| sender.receiver_count() > 0);
        state.is_running = !state.watched.is_empty();
        state.is_running.then(|| state.watched.keys().copied().collect())
    }

    fn end(&self, ended: &[Credential]) {
        let mut state = self.lock();
        for credential in ended {
            state.watched.remove(credential);
        }
    }
}

async fn run(watches: CredentialWatches, pool: PgPool) {
    let mut ticks = interval(CHECK_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while let Some(watched) = watches.watched() {
        ticks.tick().await;
        match ended(&pool, &watched).await {
            Ok(ended) => watches.end(&ended),
            Err(error) => tracing::debug!(%error, "the credentials of live streams could not be checked"),
        }
    }
}

async fn ended(pool: &PgPool, watched: &[Credential]) -> Result<Vec<Credential>, sqlx::Error> {
    let (mut hashes, mut keys) = (Vec::new(), Vec::new());
    for credential in watched {
        match credential {
            Credential::Session(hash) => hashes.push(hash.to_vec()),
            Credential::Key(id) => keys.push(id.0),
        }
    }
    let sessions = if hashes.is_empty() { Vec::new() } else { sessions::ended(pool, &hashes).await? };
    let keys = if keys.is_empty() { Vec::new() } else { api_keys::ended(pool, &keys).await? };
    let sessions = sessions.into_iter().filter_map(|hash| hash.try_into().ok()).map(Credential::Session);
    Ok(sessions.chain(keys.into_iter().map(Credential::Key)).collect())
}
