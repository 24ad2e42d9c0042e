//! A job in a worker's hands.

use crate::{
    store::jobs::ClaimedJob,
    worker::{Doubt, Slot, Slots},
};
use chrono::{DateTime, Utc};
use model::id::{AppId, AssignmentId, BatchId, IntegrationId, JobId};
use serde_json::Value;
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// A claimed job under its lease, as a handler sees it.
pub struct HeldJob {
    /// The same over all attempts: the `webhook-id` of every request.
    pub id: JobId,
    /// Whose.
    pub app_id: AppId,
    /// For which integration.
    pub integration_id: IntegrationId,
    /// The batch it is an item of.
    pub batch_id: Option<BatchId>,
    /// The lease.
    pub assignment_id: AssignmentId,
    /// This one; 1 for the first.
    pub attempt: i16,
    /// The last one.
    pub max_attempts: i16,
    /// Whether everything is to be sent and not the difference.
    pub is_full: bool,
    /// What kind of job.
    pub job_type: String,
    /// Type and id of the record, of a record's change.
    pub record: Option<(String, String)>,
    /// One live job per integration and id.
    pub deduplication_id: Option<String>,
    /// Jobs of one key run one at a time, in order.
    pub serialize_key: Option<String>,
    /// Ties together what belongs together.
    pub correlation_id: String,
    /// What the job was made with.
    pub payload: Option<Value>,
    /// When it was accepted.
    pub created_at: DateTime<Utc>,
    /// When this attempt began.
    pub started_at: DateTime<Utc>,
    /// Time this attempt may take, waiting for a slot not counted.
    pub timeout: Duration,
    /// Whether an attempt before this one vanished with its worker: nobody knows what it sent. Only a recorded completion clears it.
    pub may_have_arrived: bool,
    slots: Slots,
    doubt: Mutex<Option<Doubt>>,
}

impl HeldJob {
    /// Puts a claimed job into a handler's hands.
    #[must_use]
    pub fn new(job: ClaimedJob, timeout: Duration, slots: Slots) -> Self {
        Self {
            id: job.id,
            app_id: job.app_id,
            integration_id: job.integration_id,
            batch_id: job.batch_id,
            assignment_id: job.assignment_id,
            attempt: job.attempt,
            max_attempts: job.max_attempts,
            is_full: job.is_full,
            record: job.record(),
            job_type: job.job_type,
            deduplication_id: job.deduplication_id,
            serialize_key: job.serialize_key,
            correlation_id: job.correlation_id,
            payload: job.payload,
            created_at: job.created_at,
            started_at: job.started_at,
            timeout,
            may_have_arrived: job.may_have_arrived,
            slots,
            doubt: Mutex::default(),
        }
    }

    /// Waits for the moment this job may send a request. Ask right before sending: every answer of [`Slot::Go`] uses up a slot
    /// of the integration's limits.
    pub async fn slot(&self) -> Slot {
        self.slots.next(self.integration_id).await
    }

    /// From now on something may have arrived. Say it right before sending: however the attempt ends, also when it is stopped or
    /// panics, the value is shown to [`on_ended`](crate::worker::JobHandler::on_ended), unless a recorded completion makes it void.
    pub fn doubt(&self, doubt: Doubt) {
        *self.doubt.lock().unwrap_or_else(PoisonError::into_inner) = Some(doubt);
    }

    /// Nothing arrived after all, for certain.
    pub fn settle(&self) {
        drop(self.take_doubt());
    }

    pub(super) fn take_doubt(&self) -> Option<Doubt> {
        self.doubt.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
