//! The error of this crate.

use std::time::Duration;

use model::problem::Faults;
use queue::QueueError;

use crate::secrets::SealError;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// It does not exist, or belongs to an app outside the caller's scope: the error does not reveal which.
    #[error("{what} not found")]
    NotFound {
        /// The kind of thing: `app`, `integration`, `record`, `resync`, `batch`.
        what: &'static str,
        /// Pointer to its id in the body (RFC 6901), when it was not the id of the URL.
        pointer: Option<String>,
    },
    /// The input cannot be accepted.
    #[error("{0}")]
    Invalid(Faults),
    /// The input is larger than it may be.
    #[error("{0}")]
    TooLarge(Faults),
    /// The present state does not allow it.
    #[error("{detail}")]
    Conflict {
        /// For programs, kebab-case: the end of a problem's type.
        code: &'static str,
        /// For people.
        detail: String,
    },
    /// It was done a short time ago.
    #[error("too soon: try again in {} s", .retry_after.as_secs().max(1))]
    TooSoon {
        /// When it may be tried again.
        retry_after: Duration,
    },
    /// A stored secret cannot be decrypted.
    #[error("a stored secret {0}")]
    Sealed(#[from] SealError),
    /// The HTTP client could not be set up.
    #[error("the HTTP client could not be set up")]
    Client(#[from] reqwest::Error),
    /// An error of the engine or its database.
    #[error(transparent)]
    Queue(#[from] QueueError),
}

impl DeliveryError {
    /// `NotFound` for the id of the URL.
    #[must_use]
    pub fn not_found(what: &'static str) -> Self {
        Self::NotFound { what, pointer: None }
    }

    /// `NotFound` for an id inside the body.
    #[must_use]
    pub fn not_found_at(what: &'static str, pointer: impl Into<String>) -> Self {
        Self::NotFound { what, pointer: Some(pointer.into()) }
    }

    /// `Invalid` with one fault.
    #[must_use]
    pub fn fault(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        let mut faults = Faults::default();
        faults.add(pointer, detail);
        Self::Invalid(faults)
    }
}

impl From<Faults> for DeliveryError {
    fn from(faults: Faults) -> Self {
        Self::Invalid(faults)
    }
}

impl From<sqlx::Error> for DeliveryError {
    fn from(error: sqlx::Error) -> Self {
        Self::Queue(QueueError::from(error))
    }
}
