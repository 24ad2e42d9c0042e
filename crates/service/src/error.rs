//! Errors of use cases: those of the crates below as they are, and the refusal of an actor whose role does not allow it.

use access::AccessError;
use delivery::DeliveryError;
use model::problem::Faults;
use queue::QueueError;

/// Why a use case failed.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// Refused or failed by apps, integrations, jobs or records.
    #[error(transparent)]
    Delivery(#[from] DeliveryError),
    /// The line of the audit log could not be written, so nothing was changed; or a change of users and keys was refused.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The actor's role does not allow it; the sentence says so.
    #[error("{0}")]
    NotAllowed(String),
}

impl ServiceError {
    /// Of an actor whose role does not allow what the input asks for.
    pub(crate) fn beyond_role() -> Self {
        Self::NotAllowed("Your role does not allow what this would do.".to_owned())
    }

    /// The faults of refused input; any other error as it is.
    ///
    /// # Errors
    /// The other error.
    pub fn into_faults(self) -> Result<Faults, Self> {
        match self {
            Self::Delivery(
                DeliveryError::Invalid(faults) | DeliveryError::Queue(QueueError::Invalid(faults)),
            )
            | Self::Access(AccessError::Invalid(faults) | AccessError::Store(QueueError::Invalid(faults))) => {
                Ok(faults)
            }
            other => Err(other),
        }
    }

    /// Whether the database aborted this in favour of another transaction: a retry may succeed at once.
    #[must_use]
    pub fn lost_a_race(&self) -> bool {
        match self {
            Self::Delivery(DeliveryError::Queue(error)) | Self::Access(AccessError::Store(error)) => {
                error.lost_a_race()
            }
            _ => false,
        }
    }

    /// The code of a conflict with the current state.
    #[must_use]
    pub fn conflict(&self) -> Option<&'static str> {
        match self {
            Self::Delivery(DeliveryError::Conflict { code, .. })
            | Self::Access(AccessError::Conflict { code, .. }) => Some(code),
            _ => None,
        }
    }

    /// Whether what was asked for does not exist, or is outside the actor's scope.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            Self::Delivery(DeliveryError::NotFound { .. } | DeliveryError::Queue(QueueError::NotFound))
                | Self::Access(AccessError::NotFound | AccessError::Store(QueueError::NotFound))
        )
    }
}

impl From<QueueError> for ServiceError {
    fn from(error: QueueError) -> Self {
        Self::Delivery(error.into())
    }
}

impl From<Faults> for ServiceError {
    fn from(faults: Faults) -> Self {
        Self::Delivery(faults.into())
    }
}

impl From<sqlx::Error> for ServiceError {
    fn from(error: sqlx::Error) -> Self {
        QueueError::from(error).into()
    }
}
