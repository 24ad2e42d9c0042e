//! Settings of deliveries, and defaults for integrations that do not set them.

use std::time::Duration;

/// Settings of deliveries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryConfig {
    /// Time for one attempt; also for `test`. Default: 30 s.
    pub timeout: Duration,
    /// Attempts of a job. Default: 10.
    pub max_attempts: i16,
    /// The `User-Agent` of requests. Default: `Headgate/` and the version.
    pub user_agent: String,
    /// Fields that are masked in every app's data, in addition to those whose names say that they are secret.
    pub masked_fields: Vec<String>,
    /// How long after the end of a re-sync the same cannot be started again. Default: 10 s.
    pub resync_cool_down: Duration,
    /// How long an event's id is stored to recognise repeated ones. Default: 24 hours.
    pub event_id_retention: Duration,
}

impl Default for DeliveryConfig {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            max_attempts: 10,
            user_agent: concat!("Headgate/", env!("CARGO_PKG_VERSION")).to_owned(),
            masked_fields: Vec::new(),
            resync_cool_down: Duration::from_secs(10),
            event_id_retention: Duration::from_secs(24 * 60 * 60),
        }
    }
}
