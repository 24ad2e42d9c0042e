//! Values for tests: an integration with nothing to do, a snapshot, and a process.

use crate::failure::FailureSummary;
use crate::id::{AppId, IntegrationId, WorkerId};
use crate::integration::{IntegrationState, IntegrationType};
use crate::stats::{IntegrationGauge, Snapshot, Totals};
use crate::sync_status::LastError;
use crate::worker::{LeaseState, Worker};
use chrono::{DateTime, Utc};

/// When the fixtures were taken: noon of 20 November 2026.
#[must_use]
pub fn noon() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + chrono::TimeDelta::days(20_777) + chrono::TimeDelta::hours(12)
}

/// An integration that is caught up.
#[must_use]
pub fn idle_gauge() -> IntegrationGauge {
    IntegrationGauge {
        integration_id: IntegrationId::generate(),
        app_id: AppId::generate(),
        app_name: "Acme".to_owned(),
        name: "Warehouse".to_owned(),
        integration_type: IntegrationType::Webhook,
        state: IntegrationState::Active,
        state_reason: None,
        breaker: None,
        backlog: 0,
        processing: 0,
        max_concurrency: 50,
        to_be_retried: 0,
        dead_letters: 0,
        retry_pyramid: vec![],
        delivered_per_minute: 0,
        failed_per_minute: 0,
        accepted_per_minute: None,
        refused_share: None,
        oldest_pending_age_seconds: None,
        eta_seconds: None,
        latency: None,
        wait: None,
        rate_limit: None,
        held_until: None,
        last_success_at: Some(noon()),
        last_error: Some(LastError {
            at: noon(),
            message: "503 Service Unavailable".to_owned(),
            response_status: Some(503),
        }),
    }
}

/// A snapshot of these integrations.
#[must_use]
pub fn snapshot_of(integrations: Vec<IntegrationGauge>) -> Snapshot {
    Snapshot {
        at: noon(),
        totals: Totals::default(),
        retry_pyramid: Vec::new(),
        integrations,
        workers: 1,
        failures: FailureSummary::default(),
        warnings: Vec::new(),
    }
}

/// A process that runs jobs: 3 in 100 slots.
#[must_use]
pub fn live_worker() -> Worker {
    Worker {
        id: WorkerId::generate(),
        host: "node-1".to_owned(),
        pid: 7,
        version: "1.0".to_owned(),
        program: None,
        job_types: None,
        slots: 100,
        busy: 3,
        is_draining: false,
        is_leader: false,
        lease: LeaseState::Live,
        started_at: DateTime::UNIX_EPOCH,
        heartbeat_at: DateTime::UNIX_EPOCH,
    }
}
