//! Dead letters: jobs that will not be tried again by themselves.

use crate::{
    attempt::Attempt,
    id::{AppId, DeadLetterId, IntegrationId, JobId, OperationId},
    rules::verdict::ErrorKind,
};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A job that will not be tried again by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadLetter {
    /// UUIDv7 of the dead letter.
    pub id: DeadLetterId,
    /// The job, which keeps its id when it is requeued.
    pub job_id: JobId,
    /// Whose it is.
    pub app_id: AppId,
    /// For which integration.
    pub integration_id: IntegrationId,
    /// What kind of job.
    pub job_type: String,
    /// What was last sent, or the payload it was made with.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub payload: Option<Value>,
    /// Of a record's change.
    pub record_type: Option<String>,
    /// Of a record's change.
    pub record_id: Option<String>,
    /// Ties together what belongs together.
    pub correlation_id: String,
    /// The whole failure history, oldest first.
    pub attempts: Vec<Attempt>,
    /// Why it was given up.
    pub error_kind: ErrorKind,
    /// In words.
    pub error_message: String,
    /// Groups dead letters of one cause: integration and normalised error.
    pub fingerprint: String,
    /// When it was given up.
    pub failed_at: DateTime<Utc>,
    /// When the job was accepted.
    pub created_at: DateTime<Utc>,
}

impl DeadLetter {
    /// What people know it by: its record, or its kind.
    #[must_use]
    pub fn about(&self) -> String {
        match (&self.record_type, &self.record_id) {
            (Some(kind), Some(id)) => format!("{kind} {id}"),
            _ => self.job_type.clone(),
        }
    }
}

/// A purged dead letter, until it is deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BinnedLetter {
    /// As it was.
    pub letter: DeadLetter,
    /// When it was purged.
    pub binned_at: DateTime<Utc>,
    /// When it is gone for good: 24 hours later.
    pub deleted_at: DateTime<Utc>,
    /// The bulk action that purged it; null: a button of its own.
    pub operation_id: Option<OperationId>,
}

/// Dead letters of one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadLetterGroup {
    /// Of integration and normalised error.
    pub fingerprint: String,
    /// A sample of the error.
    pub error: String,
    /// For which integration.
    pub integration_id: IntegrationId,
    /// How many.
    pub count: i64,
    /// The oldest.
    pub first_at: DateTime<Utc>,
    /// The newest.
    pub last_at: DateTime<Utc>,
}
