//! What can go wrong between a credential and an actor.

use model::problem::Faults;
use queue::error::QueueError;
use std::time::Duration;

/// Why a call of this crate did not do what was asked. Matched variant by variant where it is answered with.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// No such user or key, or one that is not for the asker to see.
    #[error("not found")]
    NotFound,
    /// The input has faults.
    #[error("the input has faults: {0}")]
    Invalid(Faults),
    /// It is at odds with what is there.
    #[error("{detail}")]
    Conflict {
        /// A word for programs.
        code: &'static str,
        /// A sentence for people.
        detail: &'static str,
    },
    /// Address and password do not belong together; which of them is wrong is not said.
    #[error("the e-mail address or the password is wrong")]
    BadCredentials,
    /// Too many wrong passwords for this account or from this network, or too many people signing in at once.
    #[error("too many attempts to sign in")]
    TooMany {
        /// When the next attempt is looked at.
        retry_after: Duration,
    },
    /// A password could not be hashed: the machine is out of memory or a stored hash is broken.
    #[error("a password could not be hashed")]
    Hashing,
    /// The database did not do its part.
    #[error(transparent)]
    Store(#[from] QueueError),
}

impl From<sqlx::Error> for AccessError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<Faults> for AccessError {
    fn from(faults: Faults) -> Self {
        Self::Invalid(faults)
    }
}
