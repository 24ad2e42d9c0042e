//! How the maintenance services do, as the leader tells everyone.
//!
//! Each process counts for itself what its services did. A leader goes on where the last one stopped, so that the sums it tells never fall when
//! the lead changes hands: whoever adds up what they rose by (Prometheus) would take a fall for a restart, and the way back for as many runs.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// One maintenance service as the leader sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceState {
    /// Its name.
    pub name: String,
    /// Runs that went well, whoever led. A change of leaders may forget those of the last seconds.
    pub runs: u64,
    /// Runs that did not.
    pub failures: u64,
    /// Failures since the last run that went well.
    pub failures_in_a_row: u32,
    /// Rows it could not move and passed over.
    pub passed_over: u64,
    /// How long ago the last run went well.
    pub seconds_since_success: Option<f64>,
    /// How long the last run took.
    pub took_seconds: f64,
    /// Whether it does its work, apart from passing troubles.
    pub is_healthy: bool,
}

/// What leaders before counted, besides what this process does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CarriedOver(HashMap<String, Base>);

#[derive(Clone, Debug, PartialEq)]
struct Base {
    runs: i128,
    failures: i128,
    passed_over: i128,
    succeeded_at: Option<DateTime<Utc>>,
}

impl CarriedOver {
    /// From what was told last, then, and what this process counts itself by now.
    #[must_use]
    pub fn new(told: &[ServiceState], told_at: DateTime<Utc>, own: &[ServiceState]) -> Self {
        let base = |told: &ServiceState| {
            let own = own.iter().find(|own| own.name == told.name).cloned().unwrap_or_default();
            let above = |told: u64, own: u64| i128::from(told) - i128::from(own);
            let base = Base {
                runs: above(told.runs, own.runs),
                failures: above(told.failures, own.failures),
                passed_over: above(told.passed_over, own.passed_over),
                succeeded_at: told
                    .seconds_since_success
                    .map(|seconds| told_at - chrono::TimeDelta::milliseconds((seconds * 1_000.0) as i64)),
            };
            (told.name.clone(), base)
        };
        Self(told.iter().map(base).collect())
    }

    /// What is to be told now.
    #[must_use]
    pub fn add(&self, own: Vec<ServiceState>, now: DateTime<Utc>) -> Vec<ServiceState> {
        let sum = |own: u64, base: i128| u64::try_from(i128::from(own) + base).unwrap_or(own);
        own.into_iter()
            .map(|own| {
                let Some(base) = self.0.get(&own.name) else { return own };
                let before =
                    base.succeeded_at.map(|at| ((now - at).num_milliseconds() as f64 / 1_000.0).max(0.0));
                ServiceState {
                    runs: sum(own.runs, base.runs),
                    failures: sum(own.failures, base.failures),
                    passed_over: sum(own.passed_over, base.passed_over),
                    seconds_since_success: match (own.seconds_since_success, before) {
                        (Some(own), Some(before)) => Some(own.min(before)),
                        (own, before) => own.or(before),
                    },
                    ..own
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(runs: u64, failures: u64, seconds_since_success: Option<f64>) -> ServiceState {
        let name = "tidy".to_owned();
        ServiceState { name, runs, failures, seconds_since_success, ..ServiceState::default() }
    }

    #[test]
    fn sums_go_on_when_the_lead_goes_to_another_process_and_back() {
        let at = DateTime::<Utc>::UNIX_EPOCH;
        let in_a_minute = at + chrono::TimeDelta::minutes(1);
        let told =
            |states: Vec<ServiceState>| (states[0].runs, states[0].failures, states[0].seconds_since_success);

        let first = CarriedOver::default().add(vec![state(1_000, 3, Some(2.0))], at);
        assert_eq!(told(first.clone()), (1_000, 3, Some(2.0)), "nobody led before");

        let second = CarriedOver::new(&first, at, &[state(0, 0, None)]);
        assert_eq!(
            told(second.add(vec![state(0, 1, None)], in_a_minute)),
            (1_000, 4, Some(62.0)),
            "it failed at once"
        );
        let second = second.add(vec![state(5, 1, Some(1.0))], in_a_minute);
        assert_eq!(told(second.clone()), (1_005, 4, Some(1.0)));

        // The first process counted a thousand itself.
        let back = CarriedOver::new(&second, in_a_minute, &[state(1_000, 3, Some(62.0))]);
        assert_eq!(told(back.add(vec![state(1_001, 3, Some(0.0))], in_a_minute)), (1_006, 4, Some(0.0)));
        assert_eq!(back.add(vec![], in_a_minute), [], "a service that is no more is not told of");
    }
}
