//! The same POST sent twice is done once: keys of `Idempotency-Key`, scoped to caller, method and path, for 24 hours.
//!
//! Key and answer are written by the transaction that does the work, so that after a crash both are there or neither. The transaction keeps the
//! row locked until then: that tells a call in progress from one that was abandoned.

use crate::{error::AccessError, keyed_call::KeyedCall, store::idempotency as store};
use sha2::{Digest, Sha256};
use sqlx::PgConnection;
use std::time::Duration;

/// Whether a call is new.
#[derive(Debug)]
pub enum CallState {
    /// New: do the work in the same transaction, call [`answer`] and commit; or roll back.
    First,
    /// Done before: send this answer again.
    Done {
        /// HTTP status.
        status: i16,
        /// Body, as given to [`answer`].
        answer: Option<Vec<u8>>,
    },
    /// The same call is being worked on by another request.
    InProgress,
    /// The key was used with another body.
    OtherBody,
}

/// Claims the key, in a transaction whose `lock_timeout` limits the wait for another request with the same key. After that, `lock_timeout` is
/// set to `lock_wait`. Unless the result is [`CallState::First`], the transaction has to be rolled back.
pub async fn begin(
    conn: &mut PgConnection,
    call: &KeyedCall,
    body: &[u8],
    lock_wait: Duration,
) -> Result<CallState, AccessError> {
    let body_hash = Sha256::digest(body);
    match store::take(conn, call, &body_hash, lock_wait).await.map_err(AccessError::from) {
        Ok(true) => return Ok(CallState::First),
        Ok(false) => {}
        Err(AccessError::Store(error)) if error.is_lock_timeout() => return Ok(CallState::InProgress),
        Err(error) => return Err(error),
    }
    let row = store::get(conn, call).await?;
    if row.body_hash != body_hash.as_slice() {
        return Ok(CallState::OtherBody);
    }
    Ok(CallState::Done { status: row.status, answer: row.answer })
}

/// Stores the answer for repeats. When this fails, the caller must roll the work back.
pub async fn answer(
    conn: &mut PgConnection,
    call: &KeyedCall,
    status: i16,
    answer: &[u8],
) -> Result<(), AccessError> {
    Ok(store::answer(conn, call, status, answer).await?)
}
