//! How long a group's sender goes on, and what it reads before each further request.

use std::time::Duration;

use chrono::{DateTime, Utc};
use model::{id::IntegrationId, integration::IntegrationState};
use queue::QueueError;
use queue::worker::AT_ONCE;
use tokio::time::{Instant, timeout};

use super::Address;
use crate::{Delivery, connector::material_reader::READ_TIMEOUT, store::material};

/// Time used for one group, from the first request on.
#[derive(Default)]
pub(super) struct SendBudget {
    first_request_at: Option<Instant>,
    waited_for_slots: Duration,
    has_answered: bool,
    /// Items submitted now are released until then.
    pub(super) stopped_until: Option<DateTime<Utc>>,
}

impl SendBudget {
    pub(super) fn has_begun(&self) -> bool {
        self.first_request_at.is_some()
    }

    pub(super) fn record_request(&mut self, now: Instant, waited: Duration) {
        if self.has_begun() {
            self.waited_for_slots += waited;
        }
        self.first_request_at.get_or_insert(now);
    }

    /// Some items have their answer, so that fewer are left for the next claim.
    pub(super) fn answered(&mut self) {
        self.has_answered = true;
    }

    /// Whether the rest is left for another claim. Never before one item has its answer: otherwise a slow receiver that refuses the whole
    /// would get the same request again and again, with no attempt counted.
    pub(super) fn is_spent(&self, now: Instant, within: Duration) -> bool {
        let spent =
            self.first_request_at.map_or(Duration::ZERO, |first| now.saturating_duration_since(first));
        self.has_answered && spent > within + self.waited_for_slots
    }
}

/// Where the next request goes; or until when none may be sent.
pub(super) async fn current_address(
    delivery: &Delivery,
    id: IntegrationId,
) -> Result<Address, DateTime<Utc>> {
    let read = timeout(READ_TIMEOUT, material::read_current(&delivery.pool, id)).await;
    let read = read.map_or_else(|late| Err(QueueError::from(late)), |read| read.map_err(QueueError::from));
    let current = match read {
        Ok(current) => current.ok_or(AT_ONCE)?,
        Err(error) => {
            let error = error.with_causes();
            tracing::warn!(integration.id = %id, %error, "integration {id} could not be read before its next request");
            return Err(AT_ONCE);
        }
    };
    if current.state != IntegrationState::Active {
        return Err(current.time.now());
    }
    if let Some(until) = current.quiet_until {
        return Err(until);
    }
    Ok(Address {
        integration_id: id,
        time: current.time,
        // Without an address each job fails by itself once it is claimed again.
        url: current.endpoint_url.ok_or(current.time.now())?,
        headers: current.headers,
        secrets: current.secrets,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_a_timeout_after_its_first_request_but_not_without_an_answer() {
        let began = Instant::now();
        let seconds = Duration::from_secs;
        let mut budget = SendBudget::default();
        assert!(!budget.is_spent(began, seconds(10)));
        // A wait for a slot before the first request does not count, one after it does.
        budget.record_request(began, seconds(100));
        budget.record_request(began + seconds(9), seconds(2));
        let now = began + seconds(39);
        assert!(!budget.is_spent(now, seconds(10)), "no item has an answer yet");
        budget.answered();
        assert!(budget.is_spent(now, seconds(10)) && budget.is_spent(now, seconds(36)));
        assert!(!budget.is_spent(now, seconds(38)), "waits for slots do not count");
    }
}
