//! Tells those who stay (a live stream) when what they came in with has ended: signed out, revoked, expired, another role.
//!
//! One look for all who stay in this process, twice a second, and none while nobody does.

use crate::{
    access::Access,
    store::{api_keys, sessions},
    token,
};
use model::{
    actor::{Actor, ActorKind},
    id::ApiKeyId,
};
use sqlx::PgPool;
use std::{
    collections::HashMap,
    future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval},
};

/// How often it is looked whether credentials still hold: whoever lost one is gone within a second.
const EVERY: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Credential {
    Session([u8; 32]),
    Key(ApiKeyId),
}

/// Somebody who stays.
pub struct Stay(Kind);

enum Kind {
    ForGood,
    Until(watch::Receiver<()>),
}

impl Stay {
    /// Returns when the credential has ended. A database that is away ends none.
    pub async fn ended(&mut self) {
        match &mut self.0 {
            Kind::ForGood => future::pending().await,
            // Nothing is ever sent: the sender goes with the credential.
            Kind::Until(held) => while held.changed().await.is_ok() {},
        }
    }
}

/// Who stays.
#[derive(Clone, Default)]
pub(crate) struct Stays(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    held: HashMap<Credential, watch::Sender<()>>,
    is_looked_after: bool,
}

impl Access {
    /// From now on, with what the actor came in with: a session has its token.
    #[must_use]
    pub fn stay(&self, actor: &Actor, session: Option<&str>) -> Stay {
        let credential = match (actor.kind, session) {
            (ActorKind::AdminKey | ActorKind::System, _) => return Stay(Kind::ForGood),
            (ActorKind::ApiKey(id), _) => Credential::Key(id),
            (ActorKind::User(_), session) => Credential::Session(token::hash(session.unwrap_or_default())),
        };
        let mut state = self.stays().lock();
        if !std::mem::replace(&mut state.is_looked_after, true) {
            tokio::spawn(look_after(self.stays().clone(), self.pool().clone()));
        }
        let held = state.held.entry(credential).or_insert_with(|| watch::Sender::new(()));
        Stay(Kind::Until(held.subscribe()))
    }
}

impl Stays {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whose credentials are to be looked at. None when nobody stays: then nobody looks any more.
    fn asked(&self) -> Option<Vec<Credential>> {
        let mut state = self.lock();
        state.held.retain(|_, stay| stay.receiver_count() > 0);
        state.is_looked_after = !state.held.is_empty();
        state.is_looked_after.then(|| state.held.keys().copied().collect())
    }

    fn end(&self, ended: &[Credential]) {
        let mut state = self.lock();
        for credential in ended {
            state.held.remove(credential);
        }
    }
}

async fn look_after(stays: Stays, pool: PgPool) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while let Some(asked) = stays.asked() {
        ticks.tick().await;
        match ended(&pool, &asked).await {
            Ok(ended) => stays.end(&ended),
            Err(error) => tracing::debug!(%error, "it could not be looked whether credentials still hold"),
        }
    }
}

/// Those of them that have ended.
async fn ended(pool: &PgPool, asked: &[Credential]) -> Result<Vec<Credential>, sqlx::Error> {
    let (mut hashes, mut keys) = (Vec::new(), Vec::new());
    for credential in asked {
        match credential {
            Credential::Session(hash) => hashes.push(hash.to_vec()),
            Credential::Key(id) => keys.push(id.0),
        }
    }
    let sessions = if hashes.is_empty() { Vec::new() } else { sessions::stay(pool, &hashes).await? };
    let keys = if keys.is_empty() { Vec::new() } else { api_keys::stay(pool, &keys).await? };
    let sessions = sessions.into_iter().filter_map(|hash| hash.try_into().ok()).map(Credential::Session);
    Ok(sessions.chain(keys.into_iter().map(Credential::Key)).collect())
}
