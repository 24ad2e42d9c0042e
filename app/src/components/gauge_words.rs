//! What the rows of integrations say of a gauge, whichever table they stand in.

use model::{integration::IntegrationType, stats::IntegrationGauge};

/// Whose it is, and its type where that is not the usual one.
pub fn about(gauge: &IntegrationGauge) -> String {
    match gauge.integration_type {
        IntegrationType::Webhook => gauge.app_name.clone(),
        other => format!("{} · {}", gauge.app_name, other.as_str()),
    }
}

/// Share of the last minute's attempts that failed; none when nothing was tried.
pub fn failing(gauge: &IntegrationGauge) -> Option<f64> {
    let tried = gauge.delivered_per_minute + gauge.failed_per_minute;
    (tried > 0).then(|| gauge.failed_per_minute as f64 / tried as f64)
}

/// The look of a share that should be nought.
pub const fn alarming(share: Option<f64>) -> &'static str {
    match share {
        Some(share) if share >= 0.3 => "n text-failed font-semibold",
        Some(share) if share > 0.0 => "n",
        _ => "n zero",
    }
}

/// Nothing is old where nothing waits.
pub fn oldest(gauge: &IntegrationGauge) -> Option<i64> {
    gauge.oldest_pending_age_seconds.filter(|_| gauge.backlog > 0)
}
