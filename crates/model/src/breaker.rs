//! The circuit breaker of an integration, as the API shows and controls it. Its rules are in [`crate::rules::breaker`].

use crate::id::{AppId, BreakerFlipId, IntegrationId};
use crate::problem::Faults;
use crate::unknown_name::UnknownName;
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

/// Whether an integration's jobs are let through.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownName, parse_err_fn = UnknownName::of)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum BreakerState {
    /// Jobs run.
    #[default]
    Closed,
    /// Jobs wait, and no attempt is counted.
    Open,
    /// A few probes decide whether it closes.
    HalfOpen,
    /// The probes succeeded: the number of jobs that run at once grows step by step.
    Ramping,
}

impl BreakerState {
    /// All.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The circuit breaker of an integration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Breaker {
    /// Whether jobs are let through.
    pub state: BreakerState,
    /// Since when it is in that state; null: it never opened.
    pub since: Option<DateTime<Utc>>,
    /// Open: when it lets probes through by itself. Otherwise null.
    pub probe_at: Option<DateTime<Utc>>,
    /// Held open by an operator until then. Otherwise null.
    pub held_until: Option<DateTime<Utc>>,
    /// Consecutive failed attempts so far; a success resets the count, and so does an hour without a failure.
    pub failures_in_a_row: i32,
    /// Jobs (of a bundle: requests) that may run at once; null: `max_concurrency`.
    pub at_once: Option<i32>,
    /// Why it is in that state; null: it never opened.
    pub reason: Option<String>,
}

/// One change of a breaker's state, kept 30 days.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BreakerFlip {
    /// UUIDv7.
    pub id: BreakerFlipId,
    /// Its integration.
    pub integration_id: IntegrationId,
    /// Its app.
    pub app_id: AppId,
    /// Time by the database's clock.
    pub at: DateTime<Utc>,
    /// The state before.
    pub from_state: BreakerState,
    /// The state after; the same as before when an operator holds an open breaker.
    pub to_state: BreakerState,
    /// Why.
    pub reason: String,
    /// User or key that asked for it; null: the engine did it by itself.
    pub actor: Option<String>,
}

/// What an operator may do with a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum BreakerAction {
    /// Lets probes through now, even before the end of a hold. A breaker that is not open does not change.
    Probe,
    /// Closes it: all jobs run again at once, without probes.
    Close,
    /// Opens it, or keeps it open, until the given time; then probes decide.
    Hold,
}

/// `POST /integrations/{id}/breaker`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BreakerOrder {
    /// What to do.
    pub action: BreakerAction,
    /// End of the hold, only with `hold`. In the future, at most 30 days from now.
    #[serde(default)]
    pub until: Option<DateTime<Utc>>,
}

/// An operator can hold a breaker open for at most so long.
pub const MAX_HOLD: TimeDelta = TimeDelta::days(30);

impl BreakerOrder {
    /// # Errors
    /// Every fault, by field.
    pub fn check(&self, now: DateTime<Utc>) -> Result<(), Faults> {
        let mut faults = Faults::default();
        match (self.action, self.until) {
            (BreakerAction::Hold, None) => {
                faults.add("/until", "is required with hold: a time in the future, at most 30 days from now");
            }
            (BreakerAction::Hold, Some(until)) => faults.require(
                until > now && until <= now + MAX_HOLD,
                "/until",
                "must be in the future, at most 30 days from now",
            ),
            (BreakerAction::Probe | BreakerAction::Close, until) => {
                faults.require(until.is_none(), "/until", "is only allowed with hold");
            }
        }
        faults.into_result()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_hold_has_a_time_and_it_is_within_thirty_days() {
        let now = DateTime::UNIX_EPOCH;
        let order = |action, until: Option<TimeDelta>| BreakerOrder { action, until: until.map(|u| now + u) };
        let second = TimeDelta::seconds(1);
        for (action, until, is_fine) in [
            (BreakerAction::Probe, None, true),
            (BreakerAction::Close, None, true),
            (BreakerAction::Hold, Some(second), true),
            (BreakerAction::Hold, Some(MAX_HOLD), true),
            (BreakerAction::Hold, None, false),
            (BreakerAction::Hold, Some(TimeDelta::zero()), false),
            (BreakerAction::Hold, Some(MAX_HOLD + second), false),
            (BreakerAction::Probe, Some(second), false),
            (BreakerAction::Close, Some(second), false),
        ] {
            let checked = order(action, until).check(now);
            assert_eq!(checked.is_ok(), is_fine, "{action:?} {until:?}");
            assert!(checked.err().is_none_or(|faults| faults.0[0].pointer == "/until"));
        }
    }

    #[test]
    fn states_read_as_they_are_written() {
        for &state in BreakerState::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
    }
}
