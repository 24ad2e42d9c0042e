use access::AccessError;
use delivery::DeliveryError;
use queue::QueueError;

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum SteeringError {
    /// The change was refused or failed.
    #[error(transparent)]
    Delivery(#[from] DeliveryError),
    /// The line of the audit log could not be written, so nothing was changed; or a change of users and keys was refused.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The actor's role does not allow the change.
    #[error("the role does not allow that")]
    NotAllowed,
}

impl SteeringError {
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
