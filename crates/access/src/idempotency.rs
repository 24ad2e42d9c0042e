//! The same POST sent twice is done once: keys of `Idempotency-Key`, scoped to who asks, method and path, for 24 hours.
//!
//! Only answers that did something are kept: after a refusal nothing was stored, so the call may simply be made again.

use crate::{error::AccessError, store::idempotency as store};
use sha2::{Digest, Sha256};
use sqlx::PgPool;

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
    /// Do it, then [`answer`] or [`release`].
    First,
    /// It was done: give this answer again. None when the answer held a secret that is not kept.
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

/// Takes a turn.
///
/// # Errors
/// The database's.
pub async fn begin(pool: &PgPool, call: &Call, body: &[u8]) -> Result<Turn, AccessError> {
    let body_hash = Sha256::digest(body);
    // A row released between the two statements is taken at the second go.
    for _ in 0..3 {
        if store::take(pool, call, &body_hash).await? {
            return Ok(Turn::First);
        }
        let Some(row) = store::get(pool, call).await? else { continue };
        return Ok(match (row.body_hash == body_hash.as_slice(), row.status) {
            (false, _) => Turn::OtherBody,
            (true, None) => Turn::InProgress,
            (true, Some(status)) => Turn::Done { status, answer: row.answer },
        });
    }
    Ok(Turn::InProgress)
}

/// Keeps the answer for the next time.
///
/// # Errors
/// The database's.
pub async fn answer(
    pool: &PgPool,
    call: &Call,
    status: i16,
    answer: Option<&[u8]>,
) -> Result<(), AccessError> {
    Ok(store::answer(pool, call, status, answer).await?)
}

/// Nothing was done: the call may be made again.
///
/// # Errors
/// The database's.
pub async fn release(pool: &PgPool, call: &Call) -> Result<(), AccessError> {
    Ok(store::release(pool, call).await?)
}
