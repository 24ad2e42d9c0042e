//! The handle of this crate.

use crate::{api_keys, error::AccessError, passwords::Hasher, stays::Stays, token::AdminKey, users};
use model::actor::{Actor, ActorKind, Role};
use sqlx::PgPool;

/// Turns credentials into actors. Cheap to clone; clones share the limit on hashing, and who stays.
#[derive(Clone)]
pub struct Access {
    pool: PgPool,
    admin_key: Option<AdminKey>,
    hasher: Hasher,
    stays: Stays,
}

impl Access {
    /// With the key of `HEADGATE_ADMIN_API_KEY`, if there is one.
    #[must_use]
    pub fn new(pool: PgPool, admin_key: Option<AdminKey>) -> Self {
        Self { pool, admin_key, hasher: Hasher::start(), stays: Stays::default() }
    }

    /// The same with another way to the database.
    #[must_use]
    pub fn with_pool(self, pool: PgPool) -> Self {
        Self { pool, ..self }
    }

    /// Who holds the key of an `Authorization: Bearer` header.
    ///
    /// # Errors
    /// The database's; the admin key needs none.
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

    /// The program itself: the start of a deployment, the demo, the command line.
    #[must_use]
    pub fn system() -> Actor {
        Actor { kind: ActorKind::System, name: "headgate".to_owned(), role: Role::Operator, app_id: None }
    }

    /// The database of people and keys.
    #[must_use]
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    pub(crate) fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    pub(crate) fn stays(&self) -> &Stays {
        &self.stays
    }
}
