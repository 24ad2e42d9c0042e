//! Signing in with a password or a one-time link, and out.

use crate::access::Access;
use crate::audit::{self, Entry};
use crate::client::Client;
use crate::error::AccessError;
use crate::store::users::{self, NewRow};
use crate::store::{sessions, sign_in_links};
use crate::throttle;
use crate::token::{self, SessionToken};
use model::actor::{Actor, ActorKind, Role};
use model::id::UserId;
use sqlx::{Acquire, PgConnection};

/// Account that the one-time link of a new deployment signs in to.
pub(crate) const FIRST_EMAIL: &str = "operator@localhost";

impl Access {
    /// Starts a session.
    ///
    /// # Errors
    /// `BadCredentials` whichever of the two is wrong, `TooMany` after too many of those.
    pub async fn sign_in(
        &self,
        email: &str,
        password: &str,
        client: Client,
    ) -> Result<SessionToken, AccessError> {
        // None of these can be right, and the database would refuse them or they would cost a hash.
        if email.contains('\0') || email.chars().count() > 254 || password.len() > 1_000 {
            return Err(AccessError::BadCredentials);
        }
        let counted = throttle::count(self.pool(), email, client).await?;
        let account = users::account(self.pool(), email).await?;
        let hash = account.as_ref().and_then(|account| account.password_hash.clone());
        let is_right = self.hasher().verify(password.to_owned(), hash).await?;
        match account {
            Some(account) if is_right && !account.is_disabled => {
                throttle::forgive(self.pool(), &counted).await?;
                let mut conn = self.pool().acquire().await?;
                open(&mut conn, account.id, "session.sign_in").await
            }
            _ => {
                let mut conn = self.pool().acquire().await?;
                audit::record_nobody(&mut conn, email, Entry::new("session.refuse")).await?;
                tracing::info!(client.address = %client.address, "a sign-in was refused");
                Err(AccessError::BadCredentials)
            }
        }
    }

    /// Ends a session. One that has ended already is no error.
    pub async fn sign_out(&self, token: &str) -> Result<(), AccessError> {
        let mut tx = self.pool().begin().await?;
        if let Some(id) = sessions::delete(&mut tx, &token::hash(token)).await? {
            let actor = actor_of_user(&mut tx, id).await?;
            audit::record(&mut tx, &actor, Entry::new("session.sign_out").about(id)).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// The actor of a session's cookie.
    pub async fn actor_of_session(&self, token: &str) -> Result<Option<Actor>, AccessError> {
        let hash = token::hash(token);
        let Some(user) = sessions::user(self.pool(), &hash).await? else { return Ok(None) };
        let Some(role) = user.role() else { return Ok(None) };
        if user.is_stale
            && let Err(error) = sessions::touch(self.pool(), &hash).await
        {
            tracing::debug!(%error, "the time a session was last seen could not be written");
        }
        Ok(Some(Actor { kind: ActorKind::User(user.id), name: user.email, role, app_id: None }))
    }

    /// A token for `/sign-in/link/{token}`, the first way into a new deployment: it works once within 24 hours. Creates the account. `None` once
    /// an operator has a password.
    pub async fn one_time_link(&self) -> Result<Option<String>, AccessError> {
        let mut tx = self.pool().begin().await?;
        if users::has_password_operator(&mut tx).await? {
            return Ok(None);
        }
        let row = NewRow { email: FIRST_EMAIL, name: "Operator", role: Role::Operator, password_hash: None };
        let made = users::insert(&mut tx, row).await?;
        let id = match made {
            Some(id) => id,
            None => users::id_of(&mut tx, FIRST_EMAIL).await?.ok_or(AccessError::NotFound)?,
        };
        let token = token::generate();
        sign_in_links::insert(&mut tx, &token::hash(&token), id).await?;
        audit::record(&mut tx, &Self::system(), Entry::new("sign_in_link.create").about(id)).await?;
        tx.commit().await?;
        Ok(Some(token))
    }

    /// Starts a session with a one-time link, which is then used up.
    ///
    /// # Errors
    /// `BadCredentials` when it was used, has expired or never existed.
    pub async fn redeem_link(&self, token: &str) -> Result<SessionToken, AccessError> {
        let mut tx = self.pool().begin().await?;
        let id =
            sign_in_links::redeem(&mut tx, &token::hash(token)).await?.ok_or(AccessError::BadCredentials)?;
        let session = open(&mut tx, id, "session.redeem_link").await?;
        tx.commit().await?;
        Ok(session)
    }
}

/// Every sign-in gets a new token, against session fixation: one that was planted before is worthless afterwards.
async fn open(
    conn: &mut PgConnection,
    id: UserId,
    action: &'static str,
) -> Result<SessionToken, AccessError> {
    let token = SessionToken::generate();
    let mut tx = conn.begin().await?;
    sessions::insert(&mut tx, &token::hash(token.expose()), id).await?;
    users::signed_in(&mut tx, id).await?;
    let actor = actor_of_user(&mut tx, id).await?;
    audit::record(&mut tx, &actor, Entry::new(action).about(id)).await?;
    tx.commit().await?;
    Ok(token)
}

async fn actor_of_user(conn: &mut PgConnection, id: UserId) -> Result<Actor, AccessError> {
    let user = users::get(conn, id).await?;
    Ok(Actor { kind: ActorKind::User(id), name: user.email, role: user.role, app_id: None })
}
