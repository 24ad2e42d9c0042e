use crate::{
    api_keys, credential_watch::CredentialWatches, error::AccessError, passwords::Hasher, token::AdminKey,
    users,
};
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

    /// The actor of the key in an `Authorization: Bearer` header. The admin key works without the database.
    pub async fn actor_of_key(&self, key: &str) -> Result<Option<Actor>, AccessError> {
        if self.admin_key.as_ref().is_some_and(|admin| admin.is(key)) {
            return Ok(Some(Actor {
                kind: ActorKind::AdminKey,
                name: "HEADGATE_ADMIN_API_KEY".to_owned(),
                role: Role::Operator,
                app_id: None,
            }));
        }
        api_keys::actor_of(self, key).await
    }

    /// See [`users::first_operator`].
    ///
    /// # Errors
    /// Faults of address or password.
    pub async fn first_operator(&self, email: &str, password: String) -> Result<(), AccessError> {
        users::first_operator(self, email, password).await
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

    pub(crate) fn watches(&self) -> &CredentialWatches {
        &self.watches
    }
}
