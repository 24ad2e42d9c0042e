//! Why a call fails.

use model::problem::Faults;
use queue::error::QueueError;
use std::time::Duration;

/// Why a call of this crate failed. Matched exhaustively where it becomes an answer.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// No such user or key, or one outside the caller's scope.
    #[error("not found")]
    NotFound,
    /// The input has faults.
    #[error("the input has faults: {0}")]
    Invalid(Faults),
    /// The request conflicts with the current state.
    #[error("{detail}")]
    Conflict {
        /// Stable word for programs.
        code: &'static str,
        /// Sentence for people.
        detail: &'static str,
    },
    /// Address or password is wrong; which of them is not said.
    #[error("the e-mail address or the password is wrong")]
    BadCredentials,
    /// Too many wrong passwords for this account or from this network, or too many people signing in at once.
    #[error("too many attempts to sign in")]
    TooMany {
        /// Time until the next attempt is checked.
        retry_after: Duration,
    },
    /// A password could not be hashed: the machine is out of memory or a stored hash is broken.
    #[error("a password could not be hashed")]
    Hashing,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] QueueError),
}

impl AccessError {
    /// For a line of the audit log that was undone before, or at the same time.
    #[must_use]
    pub const fn already_undone() -> Self {
        Self::Conflict { code: "already-undone", detail: "This was undone already." }
    }
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
