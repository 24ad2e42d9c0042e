//! What can go wrong between a caller and the integrations.

use std::time::Duration;

use model::problem::Faults;
use queue::QueueError;

use crate::secrets::SealError;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// No such thing, or it belongs to an app outside the caller's scope: nobody learns which.
    #[error("{what} not found")]
    NotFound {
        /// What was looked for, in a word: `app`, `integration`, `record`, `resync`.
        what: &'static str,
        /// Where in the body its id stood (RFC 6901), when it was not the id of the URL.
        pointer: Option<String>,
    },
    /// The input cannot be accepted.
    #[error("{0}")]
    Invalid(Faults),
    /// The input is larger than it may be.
    #[error("{0}")]
    TooLarge(Faults),
    /// What is there stands against it.
    #[error("{detail}")]
    Conflict {
        /// For programs, kebab-case: the end of a problem's type.
        code: &'static str,
        /// For people.
        detail: String,
    },
    /// Not yet again.
    #[error("too soon: try again in {} s", .retry_after.as_secs().max(1))]
    TooSoon {
        /// When it may be tried again.
        retry_after: Duration,
    },
    /// A stored secret does not open.
    #[error("a stored secret {0}")]
    Sealed(#[from] SealError),
    /// The client could not be set up.
    #[error("the HTTP client could not be set up")]
    Client(#[from] reqwest::Error),
    /// The engine or its database.
    #[error(transparent)]
    Queue(#[from] QueueError),
}

impl DeliveryError {
    /// Nothing by the id of the URL.
    #[must_use]
    pub fn not_found(what: &'static str) -> Self {
        Self::NotFound { what, pointer: None }
    }

    /// Nothing by an id inside the body.
    #[must_use]
    pub fn not_found_at(what: &'static str, pointer: impl Into<String>) -> Self {
        Self::NotFound { what, pointer: Some(pointer.into()) }
    }

    /// One fault.
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
