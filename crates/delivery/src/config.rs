//! How deliveries are made when an integration does not say.

use std::time::Duration;

/// Settings of deliveries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryConfig {
    /// Time for one attempt; also for `test`.
    pub timeout: Duration,
    /// Attempts of a job.
    pub max_attempts: i16,
    /// What requests say of the sender.
    pub user_agent: String,
    /// Fields that are masked in every app's data, besides those whose names say that they are secret.
    pub masked_fields: Vec<String>,
    /// How long after the end of a re-sync the same may not be asked for again.
    pub resync_cool_down: Duration,
    /// How long an event's id makes it idempotent.
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
