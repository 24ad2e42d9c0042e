//! The state of the maintenance services, which the leader publishes.
//!
//! Each process counts the runs of its own services. A new leader adds them to the sums of the last one, so that the published sums never fall:
//! Prometheus takes a fall of a counter for a restart, and would count everything after it again.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// One maintenance service as the leader sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceState {
    /// Its name.
    pub name: String,
    /// Successful runs, under all leaders. Those of the last seconds before a change of leaders may be lost.
    pub runs: u64,
    /// Failed runs.
    pub failures: u64,
    /// Failures since the last successful run.
    pub failures_in_a_row: u32,
    /// Rows it could not process and skipped.
    pub passed_over: u64,
    /// How long ago the last successful run was.
    pub seconds_since_success: Option<f64>,
    /// How long the last run took.
    pub took_seconds: f64,
    /// Whether it works, apart from passing trouble.
    pub is_healthy: bool,
}

/// What earlier leaders counted, to be added to the counts of this process.
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
    /// From the states published last, the time of that, and what this process itself has counted by now.
    #[must_use]
    pub fn new(published: &[ServiceState], published_at: DateTime<Utc>, own: &[ServiceState]) -> Self {
        let base = |last: &ServiceState| {
            let own = own.iter().find(|own| own.name == last.name).cloned().unwrap_or_default();
            let above = |last: u64, own: u64| i128::from(last) - i128::from(own);
            let base = Base {
                runs: above(last.runs, own.runs),
                failures: above(last.failures, own.failures),
                passed_over: above(last.passed_over, own.passed_over),
                succeeded_at: last.seconds_since_success.map(|seconds| {
                    published_at - chrono::TimeDelta::milliseconds((seconds * 1_000.0) as i64)
                }),
            };
            (last.name.clone(), base)
        };
        Self(published.iter().map(base).collect())
    }

    /// The states to publish now.
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
    fn sums_continue_when_the_lead_goes_to_another_process_and_back() {
        let at = DateTime::<Utc>::UNIX_EPOCH;
        let in_a_minute = at + chrono::TimeDelta::minutes(1);
        let published =
            |states: Vec<ServiceState>| (states[0].runs, states[0].failures, states[0].seconds_since_success);

        let first = CarriedOver::default().add(vec![state(1_000, 3, Some(2.0))], at);
        assert_eq!(published(first.clone()), (1_000, 3, Some(2.0)), "there was no leader before");

        let second = CarriedOver::new(&first, at, &[state(0, 0, None)]);
        assert_eq!(
            published(second.add(vec![state(0, 1, None)], in_a_minute)),
            (1_000, 4, Some(62.0)),
            "it failed at once"
        );
        let second = second.add(vec![state(5, 1, Some(1.0))], in_a_minute);
        assert_eq!(published(second.clone()), (1_005, 4, Some(1.0)));

        // The first process counted a thousand itself.
        let back = CarriedOver::new(&second, in_a_minute, &[state(1_000, 3, Some(62.0))]);
        assert_eq!(published(back.add(vec![state(1_001, 3, Some(0.0))], in_a_minute)), (1_006, 4, Some(0.0)));
        assert_eq!(back.add(vec![], in_a_minute), [], "a service that no longer exists is not published");
    }
}
