//! The handle of this crate: the pool and the admin key, and what its clones share.

use crate::credential_watch::{CredentialWatch, CredentialWatches};
use crate::passwords::Hasher;
use crate::token::AdminKey;
use model::actor::{Actor, ActorKind, Role};
use sqlx::PgPool;

/// Turns credentials into actors. Cheap to clone; clones share the limit on concurrent hashing and the watched credentials.
#[derive(Clone)]
pub struct Access {
    pool: PgPool,
    admin_key: Option<AdminKey>,
    hasher: Hasher,
    watches: CredentialWatches,
}

impl Access {
    /// `admin_key` is that of `HEADGATE_ADMIN_API_KEY`, if it is set.
    #[must_use]
    pub fn new(pool: PgPool, admin_key: Option<AdminKey>) -> Self {
        Self { pool, admin_key, hasher: Hasher::start(), watches: CredentialWatches::default() }
    }

    /// The same, with another connection pool.
    #[must_use]
    pub fn with_pool(self, pool: PgPool) -> Self {
        Self { pool, ..self }
    }

    /// The actor of the admin key, if this is it.
    pub(crate) fn actor_of_admin_key(&self, key: &str) -> Option<Actor> {
        self.admin_key.as_ref().filter(|admin| admin.is(key)).map(|_| Actor {
            kind: ActorKind::AdminKey,
            name: "HEADGATE_ADMIN_API_KEY".to_owned(),
            role: Role::Operator,
            app_id: None,
        })
    }

    /// Watches the actor's credential from now on. `session` is the token of a user's session.
    #[must_use]
    pub fn watch_credential(&self, actor: &Actor, session: Option<&str>) -> CredentialWatch {
        self.watches.watch(&self.pool, actor, session)
    }

    /// The program itself: at startup, in the demo, on the command line.
    #[must_use]
    pub fn system() -> Actor {
        Actor { kind: ActorKind::System, name: "headgate".to_owned(), role: Role::Operator, app_id: None }
    }

    /// The database of users and keys.
    #[must_use]
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    pub(crate) fn hasher(&self) -> &Hasher {
        &self.hasher
    }
}
