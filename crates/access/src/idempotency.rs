//! The same POST sent twice is done once: keys of `Idempotency-Key`, scoped to who asks, method and path, for 24 hours.
//!
//! Key and answer are written by the transaction that does the work, so that there are both or neither, whatever breaks. Its row is locked
//! until then: that is what tells a call under way from one that nobody works on any more.

use crate::{error::AccessError, store::idempotency as store};
use sha2::{Digest, Sha256};
use sqlx::PgConnection;
use std::time::Duration;

/// One call that carries a key.
#[derive(Clone, Debug)]
pub struct Call {
    /// [`model::actor::Actor::owner`]: keys of one credential never meet another's.
    pub owner: String,
    /// Upper case.
    pub method: String,
    /// With its query string.
    pub path: String,
    /// 1 to 255 visible characters.
    pub key: String,
}

/// What to do with a call.
#[derive(Debug)]
pub enum Turn {
    /// Do it in the same transaction, [`answer`] and commit; or roll back.
    First,
    /// It was done: give this answer again.
    Done {
        /// HTTP status.
        status: i16,
        /// As it was handed to [`answer`].
        answer: Option<Vec<u8>>,
    },
    /// The same call is being worked on.
    InProgress,
    /// The key was used for another body.
    OtherBody,
}

/// Takes a turn, in a transaction whose `lock_timeout` says how long the same call is waited for while it is being worked on. From then on
/// locks are waited for as long as `lock_wait`. Where it is no [`Turn::First`], the transaction has to be rolled back.
///
/// # Errors
/// The database's.
pub async fn begin(
    conn: &mut PgConnection,
    call: &Call,
    body: &[u8],
    lock_wait: Duration,
) -> Result<Turn, AccessError> {
    let body_hash = Sha256::digest(body);
    match store::take(conn, call, &body_hash, lock_wait).await.map_err(AccessError::from) {
        Ok(true) => return Ok(Turn::First),
        Ok(false) => {}
        Err(AccessError::Store(error)) if error.waited_for_a_lock() => return Ok(Turn::InProgress),
        Err(error) => return Err(error),
    }
    let row = store::get(conn, call).await?;
    if row.body_hash != body_hash.as_slice() {
        return Ok(Turn::OtherBody);
    }
    Ok(Turn::Done { status: row.status, answer: row.answer })
}

/// Writes the answer down, for the next time.
///
/// # Errors
/// The database's: then the work must not stay either.
pub async fn answer(
    conn: &mut PgConnection,
    call: &Call,
    status: i16,
    answer: &[u8],
) -> Result<(), AccessError> {
    Ok(store::answer(conn, call, status, answer).await?)
}
