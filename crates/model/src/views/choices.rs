//! Apps and integrations that a filter offers to choose from.

use crate::id::{AppId, IntegrationId};
use crate::stats::{IntegrationGauge, Snapshot};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A longer list is not readable.
const MAX_CHOICES: usize = 200;

/// Names by id, and how many are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices {
    /// Apps by name.
    pub apps: BTreeMap<AppId, String>,
    /// Apps that are left out.
    pub more_apps: i64,
    /// Integrations, each with its app's name.
    pub integrations: BTreeMap<IntegrationId, String>,
    /// Integrations that are left out.
    pub more_integrations: i64,
}

impl Choices {
    /// The chosen ones, and of the others those with most jobs.
    #[must_use]
    pub fn of(snapshot: &Snapshot, app_id: Option<AppId>, integration_id: Option<IntegrationId>) -> Self {
        let mut gauges: Vec<_> = snapshot.integrations.iter().collect();
        let jobs = |g: &IntegrationGauge| g.backlog + g.processing + g.to_be_retried + g.dead_letters;
        gauges.sort_by_key(|g| {
            (
                Some(g.integration_id) != integration_id,
                Some(g.app_id) != app_id,
                Reverse(jobs(g)),
                g.integration_id,
            )
        });
        let all_apps: BTreeSet<_> = gauges.iter().map(|g| g.app_id).collect();
        let mut apps = BTreeMap::new();
        for gauge in &gauges {
            if apps.len() < MAX_CHOICES {
                apps.entry(gauge.app_id).or_insert_with(|| gauge.app_name.clone());
            }
        }
        let named = |g: &&IntegrationGauge| (g.integration_id, format!("{} · {}", g.name, g.app_name));
        let integrations: BTreeMap<_, _> = gauges.iter().take(MAX_CHOICES).map(named).collect();
        Self {
            more_apps: (all_apps.len() - apps.len()) as i64,
            more_integrations: (gauges.len() - integrations.len()) as i64,
            apps,
            integrations,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{idle_gauge, snapshot_of};

    #[test]
    fn the_busiest_of_thousands_are_offered_and_the_chosen_ones_always() {
        let mut gauges: Vec<_> =
            (0..1_000).map(|n| IntegrationGauge { backlog: n, ..idle_gauge() }).collect();
        gauges.sort_by_key(|gauge| gauge.integration_id);
        let (busiest, idle) = (
            gauges.iter().max_by_key(|g| g.backlog).expect("one").clone(),
            gauges.iter().min_by_key(|g| g.backlog).expect("one").clone(),
        );
        let snapshot = snapshot_of(gauges);
        let choices = Choices::of(&snapshot, None, None);
        assert_eq!((choices.integrations.len(), choices.more_integrations), (200, 800));
        assert_eq!((choices.apps.len(), choices.more_apps), (200, 800));
        assert_eq!(choices.integrations[&busiest.integration_id], "Warehouse · Acme");
        assert!(!choices.integrations.contains_key(&idle.integration_id));
        let choices = Choices::of(&snapshot, Some(idle.app_id), Some(idle.integration_id));
        assert!(
            choices.integrations.contains_key(&idle.integration_id)
                && choices.apps.contains_key(&idle.app_id)
        );
        assert_eq!((choices.integrations.len(), choices.more_integrations), (200, 800));
    }
}
