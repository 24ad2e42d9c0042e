//! The console's page of one integration.

use super::rate_limits::LimitRow;
use crate::audit::AuditEntry;
use crate::breaker::BreakerFlip;
use crate::failure::FailureGroup;
use crate::integration::Integration;
use crate::job::Job;
use crate::resync::Resync;
use crate::stats::{Answers, FlowMinute, IntegrationGauge, Throughput};
use crate::sync_status::SyncStatus;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// One integration with its current work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntegrationPage {
    /// The integration.
    pub integration: Integration,
    /// The status that its app may see, read at the call.
    pub status: SyncStatus,
    /// Its gauges at the call.
    pub gauge: IntegrationGauge,
    /// Its charts.
    pub charts: IntegrationCharts,
    /// Its backlog in the last hour, a point a minute, oldest first.
    pub backlogs: Vec<i64>,
    /// Its lines of the audit log, newest first; none when the reader may not see the log.
    pub activity: Option<Vec<AuditEntry>>,
    /// The newest jobs.
    pub jobs: Vec<Job>,
    /// The failure groups with most of its jobs.
    pub failures: Vec<FailureGroup>,
    /// The newest re-syncs.
    pub resyncs: Vec<Resync>,
    /// The last changes of its circuit breaker.
    pub flips: Vec<BreakerFlip>,
    /// When it was read, by the database's clock.
    pub as_of: DateTime<Utc>,
}

/// Throughput, answers and limits over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntegrationCharts {
    /// Counts and latency.
    pub throughput: Throughput,
    /// Answers of the external system.
    pub answers: Answers,
    /// Jobs accepted and ended in the last hour, a minute each, oldest first.
    pub flow: Vec<FlowMinute>,
    /// Its limits over the last hour, and over the last day in the same order.
    pub limits: (Vec<LimitRow>, Vec<LimitRow>),
    /// When its settings were changed last: a page that shows older ones loads again.
    pub settings_at: DateTime<Utc>,
}
