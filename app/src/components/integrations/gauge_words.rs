//! Words and classes for gauges in the tables of integrations.

use model::{integration::IntegrationType, stats::IntegrationGauge};

/// The app, and the integration's type where it is not a webhook.
pub fn about(gauge: &IntegrationGauge) -> String {
    match gauge.integration_type {
        IntegrationType::Webhook => gauge.app_name.clone(),
        other => format!("{} · {}", gauge.app_name, other.as_str()),
    }
}

/// Share of the last minute's attempts that failed; `None` when there were none.
pub fn failing(gauge: &IntegrationGauge) -> Option<f64> {
    let tried = gauge.delivered_per_minute + gauge.failed_per_minute;
    (tried > 0).then(|| gauge.failed_per_minute as f64 / tried as f64)
}

/// The class of a cell whose share should be 0.
pub const fn alarming(share: Option<f64>) -> &'static str {
    match share {
        Some(share) if share >= 0.3 => "n text-failed font-semibold",
        Some(share) if share > 0.0 => "n",
        _ => "n zero",
    }
}

/// `None` where nothing waits.
pub fn oldest(gauge: &IntegrationGauge) -> Option<i64> {
    gauge.oldest_pending_age_seconds.filter(|_| gauge.backlog > 0)
}
