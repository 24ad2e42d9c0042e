//! Errors of use cases as the browser may see them; internal causes go to the log.

use crate::calls::error::CallError;
use service::{AccessError, DeliveryError, QueueError, ServiceError};
use std::time::Duration;

impl From<QueueError> for CallError {
    fn from(error: QueueError) -> Self {
        match error {
            QueueError::NotFound => Self::NotFound,
            QueueError::WrongState { .. } | QueueError::WrongOperationState { .. } => {
                Self::Conflict(error.to_string())
            }
            QueueError::Invalid(faults) => Self::Invalid(faults.to_string()),
            QueueError::Changed(_) => Self::Changed,
            QueueError::Timeout => Self::TooSlow,
            error if error.is_lock_timeout() || error.lost_a_race() => Self::Raced,
            QueueError::Unavailable(cause) => {
                tracing::warn!(error = %cause, "the database is unavailable");
                Self::Unavailable
            }
            error => broken(&error),
        }
    }
}

impl From<DeliveryError> for CallError {
    fn from(error: DeliveryError) -> Self {
        match error {
            DeliveryError::NotFound { .. } => Self::NotFound,
            DeliveryError::Invalid(faults) | DeliveryError::TooLarge(faults) => {
                Self::Invalid(faults.to_string())
            }
            DeliveryError::Conflict { detail, .. } => Self::Conflict(detail),
            DeliveryError::TooSoon { retry_after } => Self::TooSoon { seconds: seconds(retry_after) },
            DeliveryError::Queue(error) => error.into(),
            error => broken(&error),
        }
    }
}

impl From<AccessError> for CallError {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::NotFound => Self::NotFound,
            AccessError::Invalid(faults) => Self::Invalid(faults.to_string()),
            AccessError::Conflict { detail, .. } => Self::Conflict(detail.to_owned()),
            AccessError::BadCredentials => Self::SignedOut,
            AccessError::TooMany { retry_after } => Self::TooSoon { seconds: seconds(retry_after) },
            AccessError::Store(error) => error.into(),
            error => broken(&error),
        }
    }
}

impl From<ServiceError> for CallError {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Delivery(error) => error.into(),
            ServiceError::Access(error) => error.into(),
            ServiceError::NotAllowed(_) => Self::Forbidden,
        }
    }
}

fn seconds(wait: Duration) -> i64 {
    i64::try_from(wait.as_secs().max(1)).unwrap_or(i64::MAX)
}

fn broken(error: &(dyn std::error::Error + 'static)) -> CallError {
    tracing::error!(error = %model::text::causes(error), "a console call failed");
    CallError::Broken
}
