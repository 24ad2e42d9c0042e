//! A claimed job for unit tests.

use crate::store::jobs::ClaimedJob;
use model::id::{AppId, AssignmentId, ClaimBatchId, IntegrationId, JobId};

pub(super) fn plain() -> ClaimedJob {
    ClaimedJob {
        claim_batch_id: ClaimBatchId::generate(),
        id: JobId::generate(),
        app_id: AppId::generate(),
        integration_id: IntegrationId::generate(),
        batch_id: None,
        assignment_id: AssignmentId::generate(),
        created_at: chrono::DateTime::UNIX_EPOCH,
        run_at: chrono::DateTime::UNIX_EPOCH,
        rank: 0,
        is_probe: false,
        is_expired: false,
        is_limited: false,
        started_at: chrono::DateTime::UNIX_EPOCH,
        timeout_ms: None,
        attempt: 1,
        max_attempts: 1,
        may_have_arrived: false,
        is_full: false,
        job_type: "x".into(),
        record_type: None,
        record_id: None,
        deduplication_id: None,
        serialize_key: None,
        correlation_id: "c".into(),
        trace: None,
        payload: None,
    }
}
