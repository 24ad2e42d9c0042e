//! Gauges and rollups, recorded by the sampler and shown in the console.

use crate::actor::Scope;
use crate::breaker::Breaker;
use crate::failure::FailureSummary;
use crate::histogram::Percentiles;
use crate::id::{AppId, IntegrationId};
use crate::integration::{IntegrationState, IntegrationType};
use crate::rate_limit::RateLimitUse;
use crate::sync_status::LastError;
use crate::unknown_name::UnknownName;
use crate::worker::Worker;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// All live numbers of the deployment: sent by `/live` every second, and part of each page's first rendering.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Snapshot {
    /// When the sampler read it, by the database's clock.
    pub at: DateTime<Utc>,
    /// Sums over all integrations.
    pub totals: Totals,
    /// Jobs to be retried, by attempts made: the first number is those after one attempt.
    pub retry_pyramid: Vec<i64>,
    /// All integrations, ordered by id.
    pub integrations: Vec<IntegrationGauge>,
    /// Processes that claim jobs.
    pub workers: i64,
    /// Failures by cause, of all apps together; empty in a part of a snapshot.
    pub failures: FailureSummary,
    /// What is wrong with the deployment itself, worst first. Not included for a single app.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Snapshot {
    /// The same snapshot with only these integrations.
    #[must_use]
    pub fn with_integrations(&self, integrations: Vec<IntegrationGauge>) -> Self {
        Self {
            at: self.at,
            totals: self.totals,
            retry_pyramid: self.retry_pyramid.clone(),
            integrations,
            workers: self.workers,
            failures: self.failures.clone(),
            warnings: self.warnings.clone(),
        }
    }

    /// The part in scope, with its own sums.
    #[must_use]
    pub fn narrowed(&self, scope: Scope, integration_id: Option<IntegrationId>) -> Self {
        if scope == Scope::AllApps && integration_id.is_none() {
            return self.clone();
        }
        let is_in = |gauge: &&IntegrationGauge| {
            scope.contains(gauge.app_id) && integration_id.is_none_or(|id| id == gauge.integration_id)
        };
        let integrations: Vec<_> = self.integrations.iter().filter(is_in).cloned().collect();
        let mut totals = Totals::default();
        let mut retry_pyramid: Vec<i64> = Vec::new();
        for gauge in &integrations {
            totals.backlog += gauge.backlog;
            totals.processing += gauge.processing;
            totals.to_be_retried += gauge.to_be_retried;
            totals.dead_letters += gauge.dead_letters;
            totals.delivered_per_minute += gauge.delivered_per_minute;
            totals.failed_per_minute += gauge.failed_per_minute;
            totals.oldest_pending_age_seconds =
                totals.oldest_pending_age_seconds.max(gauge.oldest_pending_age_seconds);
            retry_pyramid.resize(retry_pyramid.len().max(gauge.retry_pyramid.len()), 0);
            for (sum, n) in retry_pyramid.iter_mut().zip(&gauge.retry_pyramid) {
                *sum += n;
            }
        }
        // Warnings are for operators of the deployment.
        let warnings = if scope == Scope::AllApps { self.warnings.clone() } else { Vec::new() };
        let failures = FailureSummary::default();
        Self { at: self.at, totals, retry_pyramid, integrations, workers: self.workers, failures, warnings }
    }
}

/// Something an operator of the deployment should look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Warning {
    /// `old_transaction`, `counts_drift`, `service_failing`, `partitions_missing`, `not_owner`.
    pub code: String,
    /// What is wrong, its consequences, and what to do.
    pub message: String,
}

/// Sums over integrations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Totals {
    /// Pending jobs.
    pub backlog: i64,
    /// Jobs being processed.
    pub processing: i64,
    /// Jobs that wait for another attempt.
    pub to_be_retried: i64,
    /// Dead letters.
    pub dead_letters: i64,
    /// Completed (sent or unchanged) in the last 60 seconds.
    pub delivered_per_minute: i64,
    /// Failed attempts in the last 60 seconds.
    pub failed_per_minute: i64,
    /// Age of the oldest claimable job; null when none waits.
    pub oldest_pending_age_seconds: Option<i64>,
}

/// The deployment's totals at one minute.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MinuteTotals {
    /// When they were read.
    pub at: DateTime<Utc>,
    /// The totals.
    pub totals: Totals,
}

/// The deployment as recorded at one minute: everything the overview shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// All gauges.
    pub snapshot: Snapshot,
    /// Processes that were alive then, latest start first.
    pub workers: Vec<Worker>,
}

/// Numbers of jobs by state over time, of the whole deployment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Levels {
    /// Seconds of one bucket.
    pub step_seconds: i32,
    /// Oldest first, without gaps; the last is incomplete.
    pub buckets: Vec<LevelsBucket>,
}

/// The highest numbers in one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LevelsBucket {
    /// Its beginning.
    pub at: DateTime<Utc>,
    /// Maximum of pending jobs over its minutes; null, and not zero, when no minute was recorded.
    pub backlog: Option<i64>,
    /// Maximum of jobs being processed.
    pub processing: Option<i64>,
    /// Maximum of jobs that waited for another attempt.
    pub to_be_retried: Option<i64>,
    /// Maximum of dead letters.
    pub dead_letters: Option<i64>,
}

/// Live numbers of one integration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IntegrationGauge {
    /// The integration.
    pub integration_id: IntegrationId,
    /// Its app.
    pub app_id: AppId,
    /// The app's name.
    pub app_name: String,
    /// Its name.
    pub name: String,
    /// Its type.
    pub integration_type: IntegrationType,
    /// Whether its jobs run.
    pub state: IntegrationState,
    /// Why it is in that state.
    pub state_reason: Option<String>,
    /// Its circuit breaker; null while that is closed.
    pub breaker: Option<Breaker>,
    /// Pending jobs.
    pub backlog: i64,
    /// Jobs being processed.
    pub processing: i64,
    /// Maximum of jobs processed at once.
    pub max_concurrency: i32,
    /// Jobs that wait for another attempt.
    pub to_be_retried: i64,
    /// Dead letters.
    pub dead_letters: i64,
    /// Jobs to be retried, by attempts made.
    pub retry_pyramid: Vec<i64>,
    /// Completed in the last 60 seconds.
    pub delivered_per_minute: i64,
    /// Failed attempts in the last 60 seconds.
    pub failed_per_minute: i64,
    /// Jobs accepted in the last minute, estimated from the growth of the backlog and the jobs that ended. Null until the sampler has run for a
    /// minute.
    #[serde(default)]
    pub accepted_per_minute: Option<i64>,
    /// Share of 429 in all answers of the last five minutes: 0 to 1. Null when there was none.
    #[serde(default)]
    pub refused_share: Option<f64>,
    /// Age of the oldest claimable job.
    pub oldest_pending_age_seconds: Option<i64>,
    /// Estimated seconds until the backlog clears: at the rate of the last two minutes, but no sooner than the rate limit allows. Where no rate can
    /// be measured (in the first ten seconds of work, or while more jobs arrive than are done), by the rate limit alone, which is a lower bound.
    /// Null then without a rate limit, while nothing is done, and while paused.
    pub eta_seconds: Option<i64>,
    /// Duration of the attempts of the last five minutes, successful or not; null when none ended. Estimated.
    pub latency: Option<Percentiles>,
    /// How long their jobs had waited before the first attempt: from when they could run to its start. Estimated.
    pub wait: Option<Percentiles>,
    /// Use of the tightest limit.
    pub rate_limit: Option<RateLimitUse>,
    /// Nothing is sent until then, because the external system answered 429.
    pub held_until: Option<DateTime<Utc>>,
    /// When it last accepted something.
    pub last_success_at: Option<DateTime<Utc>>,
    /// The last failure.
    pub last_error: Option<LastError>,
}

/// The period of a chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Window {
    /// 15 minutes in steps of 10 seconds.
    #[serde(rename = "15m")]
    Quarter,
    /// 60 minutes in steps of a minute.
    #[default]
    #[serde(rename = "1h")]
    Hour,
    /// 6 hours in steps of 5 minutes.
    #[serde(rename = "6h")]
    SixHours,
    /// 24 hours in steps of 15 minutes.
    #[serde(rename = "24h")]
    Day,
    /// 7 days in steps of 2 hours.
    #[serde(rename = "7d")]
    Week,
}

impl Window {
    /// All, in the order a form offers them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// As it is written in URLs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quarter => "15m",
            Self::Hour => "1h",
            Self::SixHours => "6h",
            Self::Day => "24h",
            Self::Week => "7d",
        }
    }

    /// Seconds of one bucket.
    #[must_use]
    pub fn step_seconds(self) -> i32 {
        match self {
            Self::Quarter => 10,
            Self::Hour => 60,
            Self::SixHours => 300,
            Self::Day => 900,
            Self::Week => 7_200,
        }
    }

    /// Number of buckets.
    #[must_use]
    pub fn buckets(self) -> i32 {
        match self {
            Self::Quarter => 90,
            Self::Hour => 60,
            Self::SixHours => 72,
            Self::Day => 96,
            Self::Week => 84,
        }
    }

    /// Seconds of the whole window.
    #[must_use]
    pub fn seconds(self) -> i32 {
        self.step_seconds() * self.buckets()
    }
}

impl std::str::FromStr for Window {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().copied().find(|w| w.as_str() == text).ok_or(UnknownName)
    }
}

/// Finished attempts and jobs over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Throughput {
    /// Seconds of one bucket.
    pub step_seconds: i32,
    /// Oldest first, without gaps; the last is incomplete.
    pub buckets: Vec<ThroughputBucket>,
    /// Duration of the attempts of the whole window; null when none ended. Each percentile is an estimate, at most 10.1 % off; the last second of a
    /// killed process is missing.
    pub latency: Option<Percentiles>,
    /// How long jobs waited before their first attempt: from when they could run to its start.
    pub wait: Option<Percentiles>,
}

/// Finished attempts and jobs in one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ThroughputBucket {
    /// Its beginning.
    pub at: DateTime<Utc>,
    /// Jobs that completed by sending.
    pub completed: i64,
    /// Jobs that completed without a request.
    pub unchanged: i64,
    /// Failed attempts that are retried.
    pub retried: i64,
    /// Jobs that became dead letters.
    pub dead: i64,
    /// Cancelled jobs.
    pub cancelled: i64,
    /// Jobs released without counting an attempt: the rate limit had no slot, or the process stopped.
    pub limited: i64,
    /// Duration of attempts; null when none ended.
    pub latency: Option<Percentiles>,
    /// How long jobs waited before their first attempt.
    pub wait: Option<Percentiles>,
}

/// Jobs accepted and delivered by an integration in one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowMinute {
    /// Its beginning.
    pub at: DateTime<Utc>,
    /// Accepted jobs. `None` when unknown: there is no sample of the minute before.
    pub accepted: Option<i64>,
    /// Delivered jobs.
    pub delivered: i64,
    /// Failed attempts.
    pub failed: i64,
}

/// Answers of an external system over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Answers {
    /// Seconds of one bucket.
    pub step_seconds: i32,
    /// Oldest first, without gaps; the last is incomplete.
    pub buckets: Vec<AnswersBucket>,
}

/// Answers in one bucket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AnswersBucket {
    /// Its beginning.
    pub at: DateTime<Utc>,
    /// By status, ascending.
    pub statuses: Vec<StatusCount>,
}

/// Number of answers with one status. Requests are counted, not jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StatusCount {
    /// HTTP status; 0: no answer, because the connection broke or the attempt timed out.
    pub status: i16,
    /// Number of answers.
    pub count: i64,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fixtures::{idle_gauge, snapshot_of};
    use crate::id::AppId;

    pub(crate) fn gauge(
        app_id: AppId,
        backlog: i64,
        age: Option<i64>,
        retry_pyramid: Vec<i64>,
    ) -> IntegrationGauge {
        IntegrationGauge {
            app_id,
            backlog,
            processing: 1,
            retry_pyramid,
            delivered_per_minute: 2,
            oldest_pending_age_seconds: age,
            ..idle_gauge()
        }
    }

    #[test]
    fn a_scope_sees_only_its_own_sums() {
        let (own, foreign) = (AppId::generate(), AppId::generate());
        let integrations = vec![
            gauge(own, 3, Some(9), vec![1, 2]),
            gauge(foreign, 100, Some(99), vec![50]),
            gauge(own, 4, None, vec![1]),
        ];
        let first = integrations[0].integration_id;
        let snapshot = Snapshot {
            totals: Totals { backlog: 107, ..Totals::default() },
            retry_pyramid: vec![52, 2],
            failures: FailureSummary { open: Some(3), ..FailureSummary::default() },
            ..snapshot_of(integrations)
        };
        let app = snapshot.narrowed(Scope::App(own), None);
        assert_eq!((app.integrations.len(), app.totals.backlog, app.totals.processing), (2, 7, 2));
        assert_eq!(app.failures, FailureSummary::default());
        assert_eq!((app.totals.oldest_pending_age_seconds, app.retry_pyramid), (Some(9), vec![2, 2]));
        let one = snapshot.narrowed(Scope::AllApps, Some(first));
        assert_eq!((one.integrations.len(), one.totals.backlog), (1, 3));
        assert_eq!(snapshot.narrowed(Scope::AllApps, None), snapshot);
    }
}
