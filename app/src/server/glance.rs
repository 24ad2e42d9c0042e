//! The gauges that a page shows at first. A deployment may have thousands of integrations: the page would weigh megabytes, of which it shows a
//! few rows; the stream brings the others.

use crate::{calls::stats::LeftOut, components::Health};
use model::stats::{IntegrationGauge, Snapshot};
use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
};

/// So many travel whole.
const ALL: usize = 100;
/// More of the worst than any list of a page shows.
const WORST: usize = 24;
/// More of what waits longest than any list of a page shows.
const OLDEST: usize = 8;

/// The worst and those that wait longest, and what the others come to.
pub fn glance(snapshot: &Snapshot) -> (Snapshot, LeftOut) {
    if snapshot.integrations.len() <= ALL {
        return (snapshot.clone(), LeftOut::default());
    }
    let health: HashMap<_, _> =
        snapshot.integrations.iter().map(|g| (g.integration_id, Health::of(g, snapshot.at))).collect();
    let mut gauges: Vec<&IntegrationGauge> = snapshot.integrations.iter().collect();
    gauges.sort_by(|a, b| {
        let rank = |g: &IntegrationGauge| (health[&g.integration_id].severity, g.backlog);
        rank(b).cmp(&rank(a)).then_with(|| a.name.cmp(&b.name))
    });
    let mut kept: BTreeSet<_> = gauges.iter().take(WORST).map(|g| g.integration_id).collect();
    gauges.retain(|g| g.backlog > 0 && g.oldest_pending_age_seconds.is_some());
    gauges.sort_by_key(|g| (Reverse(g.oldest_pending_age_seconds), g.integration_id));
    kept.extend(gauges.iter().take(OLDEST).map(|g| g.integration_id));

    let (shown, others): (Vec<_>, Vec<_>) =
        snapshot.integrations.iter().partition(|g| kept.contains(&g.integration_id));
    let left_out = LeftOut {
        integrations: others.len(),
        needing_attention: others.iter().filter(|g| health[&g.integration_id].needs_attention()).count(),
        slots: others.iter().map(|g| i64::from(g.max_concurrency)).sum(),
        eta_seconds: others.iter().filter(|g| g.backlog > 0).filter_map(|g| g.eta_seconds).max(),
    };
    let shown = Snapshot {
        at: snapshot.at,
        totals: snapshot.totals,
        retry_pyramid: snapshot.retry_pyramid.clone(),
        integrations: shown.into_iter().cloned().collect(),
        workers: snapshot.workers,
        failures: snapshot.failures.clone(),
        warnings: snapshot.warnings.clone(),
    };
    (shown, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::{calm, snapshot_of};

    #[test]
    fn what_a_page_shows_travels_and_the_rest_in_sum() {
        let few = snapshot_of((0..100).map(|_| calm()).collect());
        assert_eq!(glance(&few), (few, LeftOut::default()));

        let mut many: Vec<_> = (0..5_000).map(|_| calm()).collect();
        for gauge in &mut many[40..80] {
            (gauge.failed_per_minute, gauge.backlog, gauge.eta_seconds) = (1, 5, Some(90));
        }
        (many[3].backlog, many[3].oldest_pending_age_seconds, many[3].eta_seconds) =
            (1, Some(7_200), Some(10));
        let oldest = many[3].integration_id;
        let (shown, left_out) = glance(&snapshot_of(many));
        let is_wrong = |g: &&IntegrationGauge| g.failed_per_minute > 0;
        assert_eq!(shown.integrations.iter().filter(is_wrong).count(), WORST);
        assert!(shown.integrations.iter().any(|g| g.integration_id == oldest));
        let rest = 5_000 - shown.integrations.len();
        assert_eq!(
            left_out,
            LeftOut {
                integrations: rest,
                needing_attention: 40 - WORST,
                slots: rest as i64 * 50,
                eta_seconds: Some(90)
            }
        );
    }
}
