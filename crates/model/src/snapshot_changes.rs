//! The difference between two snapshots. With thousands of integrations, a snapshot a second would be megabytes, of which little changes.

use crate::id::IntegrationId;
use crate::stats::{IntegrationGauge, Snapshot};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};

/// A snapshot with only the integrations that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SnapshotChanges {
    /// `at` of the snapshot that these changes apply to.
    pub since: DateTime<Utc>,
    /// Integrations that no longer exist.
    pub gone: BTreeSet<IntegrationId>,
    /// The new snapshot, with only those integrations that are new or changed.
    #[serde(flatten)]
    pub snapshot: Snapshot,
}

impl SnapshotChanges {
    /// The changes from one snapshot to the next.
    #[must_use]
    pub fn between(before: &Snapshot, after: &Snapshot) -> Self {
        let old: HashMap<_, _> = before.integrations.iter().map(|g| (g.integration_id, g)).collect();
        let ids = |of: &Snapshot| of.integrations.iter().map(|g| g.integration_id).collect::<BTreeSet<_>>();
        let is_changed = |g: &&IntegrationGauge| old.get(&g.integration_id) != Some(g);
        let changed = after.integrations.iter().filter(is_changed).cloned().collect();
        Self {
            since: before.at,
            gone: &ids(before) - &ids(after),
            snapshot: after.with_integrations(changed),
        }
    }

    /// Applies the changes. `None` when they belong to another snapshot.
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
    use crate::{fixtures::snapshot_of, id::AppId, stats::tests::gauge};

    #[test]
    fn changes_apply_only_to_the_snapshot_before() {
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
