//! What a snapshot has that the one before it had not: a deployment of thousands of integrations is megabytes a second, of which few change.

use crate::{
    id::IntegrationId,
    stats::{IntegrationGauge, Snapshot},
};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};

/// A snapshot with the integrations alone that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SnapshotChanges {
    /// `at` of the snapshot that these change.
    pub since: DateTime<Utc>,
    /// Integrations that are not there any more.
    pub gone: BTreeSet<IntegrationId>,
    /// What is now; of the integrations those that are new or have other numbers.
    #[serde(flatten)]
    pub snapshot: Snapshot,
}

impl SnapshotChanges {
    /// From one to the next.
    #[must_use]
    pub fn between(before: &Snapshot, after: &Snapshot) -> Self {
        let known: HashMap<_, _> = before.integrations.iter().map(|g| (g.integration_id, g)).collect();
        let ids = |of: &Snapshot| of.integrations.iter().map(|g| g.integration_id).collect::<BTreeSet<_>>();
        let is_news = |g: &&IntegrationGauge| known.get(&g.integration_id) != Some(g);
        let news = after.integrations.iter().filter(is_news).cloned().collect();
        Self { since: before.at, gone: &ids(before) - &ids(after), snapshot: after.with_integrations(news) }
    }

    /// The snapshot after; none when these are changes of another one.
    #[must_use]
    pub fn onto(self, before: &Snapshot) -> Option<Snapshot> {
        let Self { since, gone, mut snapshot } = self;
        if since != before.at {
            return None;
        }
        let mut changed: HashMap<_, _> =
            snapshot.integrations.drain(..).map(|gauge| (gauge.integration_id, gauge)).collect();
        let kept = before.integrations.iter().filter(|g| !gone.contains(&g.integration_id));
        let mut gauges: Vec<_> =
            kept.map(|g| changed.remove(&g.integration_id).unwrap_or_else(|| g.clone())).collect();
        gauges.extend(changed.into_values());
        gauges.sort_by_key(|gauge| gauge.integration_id);
        Some(Snapshot { integrations: gauges, ..snapshot })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        id::AppId,
        stats::tests::{gauge, snapshot_of},
    };

    #[test]
    fn changes_make_the_next_snapshot_of_the_one_before_and_of_no_other() {
        let app = AppId::generate();
        let mut integrations: Vec<_> = (0..4).map(|n| gauge(app, n, None, Vec::new())).collect();
        integrations.sort_by_key(|gauge| gauge.integration_id);
        let before = snapshot_of(integrations);
        let mut after =
            Snapshot { at: before.at + chrono::TimeDelta::seconds(1), workers: 2, ..before.clone() };
        let deleted = after.integrations.remove(2).integration_id;
        after.integrations[0].backlog = 7;
        after.integrations.push(gauge(app, 9, None, Vec::new()));
        let changes = SnapshotChanges::between(&before, &after);
        assert_eq!((changes.snapshot.integrations.len(), &changes.gone), (2, &BTreeSet::from([deleted])));
        let sent: SnapshotChanges = serde_json::from_str(&serde_json::to_string(&changes).unwrap()).unwrap();
        assert_eq!(sent.clone().onto(&before), Some(after.clone()));
        assert_eq!(sent.onto(&after), None);
    }
}
