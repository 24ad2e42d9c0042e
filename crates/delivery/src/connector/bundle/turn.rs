//! How long a carrier goes on, and what it looks at before each further request.

use std::time::Duration;

use chrono::{DateTime, Utc};
use model::{id::IntegrationId, integration::IntegrationState};
use queue::worker::AT_ONCE;
use tokio::time::{Instant, timeout};

use super::Address;
use crate::{Delivery, connector::reading::READ_TIMEOUT, store::material};

/// What one carrier does for its group, from its first request on.
#[derive(Default)]
pub(super) struct Turn {
    first_request_at: Option<Instant>,
    waited_for_slots: Duration,
    has_told: bool,
    /// Whoever comes to the group now goes back until then.
    pub(super) over_until: Option<DateTime<Utc>>,
}

impl Turn {
    pub(super) fn has_begun(&self) -> bool {
        self.first_request_at.is_some()
    }

    pub(super) fn request_goes_out(&mut self, now: Instant, waited: Duration) {
        if self.has_begun() {
            self.waited_for_slots += waited;
        }
        self.first_request_at.get_or_insert(now);
    }

    /// Some have their answer: the next turn has fewer to do.
    pub(super) fn told(&mut self) {
        self.has_told = true;
    }

    /// Whether the rest is for another turn. Never before one item has its answer, or a slow receiver that refuses the whole would be
    /// asked the same for ever, with no attempt counted.
    pub(super) fn is_over(&self, now: Instant, within: Duration) -> bool {
        let spent =
            self.first_request_at.map_or(Duration::ZERO, |first| now.saturating_duration_since(first));
        self.has_told && spent > within + self.waited_for_slots
    }
}

/// Where the next request goes; or until when there is none.
pub(super) async fn look_again(delivery: &Delivery, id: IntegrationId) -> Result<Address, DateTime<Utc>> {
    let read = timeout(READ_TIMEOUT, material::read_current(&delivery.pool, id)).await;
    let current = match read.unwrap_or(Err(sqlx::Error::PoolTimedOut)) {
        Ok(current) => current.ok_or(AT_ONCE)?,
        Err(error) => {
            tracing::warn!(integration.id = %id, %error, "integration {id} could not be read before its next request");
            return Err(AT_ONCE);
        }
    };
    if current.state != IntegrationState::Active {
        return Err(current.time.now());
    }
    if let Some(until) = current.held_until {
        return Err(until);
    }
    Ok(Address {
        integration_id: id,
        time: current.time,
        // Without one, each finds out when it is claimed again.
        url: current.endpoint_url.ok_or(current.time.now())?,
        headers: current.headers,
        secrets: current.secrets,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_ends_a_time_out_after_its_first_request_but_not_without_an_answer() {
        let began = Instant::now();
        let seconds = Duration::from_secs;
        let mut turn = Turn::default();
        assert!(!turn.is_over(began, seconds(10)));
        // What was waited before the first request does not count, what was waited since does.
        turn.request_goes_out(began, seconds(100));
        turn.request_goes_out(began + seconds(9), seconds(2));
        let now = began + seconds(39);
        assert!(!turn.is_over(now, seconds(10)), "nothing came of it yet");
        turn.told();
        assert!(turn.is_over(now, seconds(10)) && turn.is_over(now, seconds(36)));
        assert!(!turn.is_over(now, seconds(38)), "the time for slots is given on top");
    }
}
