//! Series of each integration, up to a limit.

use super::text::Text;
use model::breaker::BreakerState;
use model::stats::{IntegrationGauge, Snapshot};

/// Integrations with series of their own, those with the largest backlogs.
const MAX_INTEGRATIONS: usize = 500;

type Read = fn(&IntegrationGauge) -> Option<f64>;

const SERIES: [(&str, &str, Read); 11] = [
    ("headgate_integration_backlog", "Pending jobs.", |gauge| Some(gauge.backlog as f64)),
    ("headgate_integration_processing", "Jobs being processed.", |gauge| Some(gauge.processing as f64)),
    ("headgate_integration_to_be_retried", "Jobs that wait for another attempt.", |gauge| {
        Some(gauge.to_be_retried as f64)
    }),
    ("headgate_integration_dead_letters", "Dead letters.", |gauge| Some(gauge.dead_letters as f64)),
    ("headgate_integration_delivered_per_minute", "Completed in the last 60 s.", |gauge| {
        Some(gauge.delivered_per_minute as f64)
    }),
    ("headgate_integration_failed_per_minute", "Failed attempts in the last 60 s.", |gauge| {
        Some(gauge.failed_per_minute as f64)
    }),
    ("headgate_integration_oldest_pending_age_seconds", "Age of the oldest claimable job.", |gauge| {
        Some(gauge.oldest_pending_age_seconds.unwrap_or(0) as f64)
    }),
    (
        "headgate_integration_rate_limit_used_ratio",
        "Share of the tightest rate limit that is used, where there is one.",
        |gauge| gauge.rate_limit.map(|limit| f64::from(limit.used) / f64::from(limit.limit.max(1))),
    ),
    (
        "headgate_integration_attempt_duration_p95_seconds",
        "95 % of the attempts of the last five minutes took at most this long.",
        |gauge| gauge.latency.map(|latency| latency.p95_ms as f64 / 1_000.0),
    ),
    (
        "headgate_integration_job_wait_p95_seconds",
        "95 % of the jobs of the last five minutes waited at most this long before their first attempt.",
        |gauge| gauge.wait.map(|wait| wait.p95_ms as f64 / 1_000.0),
    ),
    (
        "headgate_integration_breaker_state",
        "Circuit breaker: 0 closed, 1 ramping up, 2 half-open, 3 open.",
        |gauge| Some(breaker_state(gauge)),
    ),
];

/// Higher is worse, so that an alert is a comparison.
fn breaker_state(gauge: &IntegrationGauge) -> f64 {
    match gauge.breaker.as_ref().map(|breaker| breaker.state) {
        None | Some(BreakerState::Closed) => 0.0,
        Some(BreakerState::Ramping) => 1.0,
        Some(BreakerState::HalfOpen) => 2.0,
        Some(BreakerState::Open) => 3.0,
    }
}

pub(super) fn gauges(text: &mut Text, snapshot: &Snapshot) {
    let mut gauges: Vec<&IntegrationGauge> = snapshot.integrations.iter().collect();
    gauges.sort_by_key(|gauge| {
        (std::cmp::Reverse(gauge.backlog + gauge.to_be_retried + gauge.dead_letters), gauge.integration_id)
    });
    gauges.truncate(MAX_INTEGRATIONS);
    for (name, help, read) in SERIES {
        for gauge in &gauges {
            if let Some(value) = read(gauge) {
                let (app, id) = (gauge.app_id.to_string(), gauge.integration_id.to_string());
                text.gauge(name, help, &[("app_id", &app), ("integration_id", &id)], value);
            }
        }
    }
}
