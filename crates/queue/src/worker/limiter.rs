//! stub
use chrono::{DateTime, Utc};
use model::id::IntegrationId;

/// Whether a request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Now.
    Go,
    /// Not soon: answer [`crate::worker::Outcome::Released`] with this time.
    Later(DateTime<Utc>),
}

/// Where a held job gets its send times from.
#[derive(Clone, Debug, Default)]
pub struct Slots {}

impl Slots {
    /// No limit: every moment is a slot.
    #[must_use]
    pub fn unlimited() -> Self {
        Self {}
    }

    pub(crate) async fn next(&self, _integration_id: IntegrationId) -> Slot {
        Slot::Go
    }
}
