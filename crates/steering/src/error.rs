//! Why something was not changed.

use access::AccessError;
use delivery::DeliveryError;
use queue::QueueError;

/// What the one who keeps the changed thing answered, or the audit log.
#[derive(Debug, thiserror::Error)]
pub enum SteeringError {
    /// It cannot be changed so.
    #[error(transparent)]
    Delivery(#[from] DeliveryError),
    /// Its line of the audit log could not be written: nothing is changed.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The actor's role does not allow what would be done.
    #[error("the role does not allow that")]
    NotAllowed,
}

impl SteeringError {
    /// Whether another transaction was in the way: the same again may succeed at once.
    #[must_use]
    pub fn lost_a_race(&self) -> bool {
        match self {
            Self::Delivery(DeliveryError::Queue(error)) | Self::Access(AccessError::Store(error)) => {
                error.lost_a_race()
            }
            _ => false,
        }
    }
}

impl From<QueueError> for SteeringError {
    fn from(error: QueueError) -> Self {
        Self::Delivery(error.into())
    }
}

impl From<sqlx::Error> for SteeringError {
    fn from(error: sqlx::Error) -> Self {
        QueueError::from(error).into()
    }
}
