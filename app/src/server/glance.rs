//! The gauges that a page shows at first. A deployment may have thousands of integrations: the page would weigh megabytes, of which it shows a
//! few rows; the stream brings the others.

use crate::{calls::stats::LeftOut, components::Health};
use model::stats::Snapshot;
use std::{cmp::Reverse, collections::BTreeSet};

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
    let mut judged: Vec<_> =
        snapshot.integrations.iter().map(|gauge| (Health::of(gauge, snapshot.at), gauge)).collect();
    judged.sort_by(|a, b| Health::worst_first((&a.0, a.1), (&b.0, b.1)));
    let mut kept: BTreeSet<_> = judged.iter().take(WORST).map(|(_, g)| g.integration_id).collect();
    let mut waiting: Vec<_> = snapshot.integrations.iter().filter(|g| g.backlog > 0).collect();
    waiting.retain(|g| g.oldest_pending_age_seconds.is_some());
    waiting.sort_by_key(|g| (Reverse(g.oldest_pending_age_seconds), g.integration_id));
    kept.extend(waiting.iter().take(OLDEST).map(|g| g.integration_id));

    judged.retain(|(_, g)| !kept.contains(&g.integration_id));
    let left_out = LeftOut {
        integrations: judged.len(),
        needing_attention: judged.iter().filter(|(health, _)| health.needs_attention()).count(),
        slots: judged.iter().map(|(_, g)| i64::from(g.max_concurrency)).sum(),
        eta_seconds: judged.iter().filter(|(_, g)| g.backlog > 0).filter_map(|(_, g)| g.eta_seconds).max(),
    };
    let shown = snapshot.integrations.iter().filter(|g| kept.contains(&g.integration_id)).cloned();
    (snapshot.with_integrations(shown.collect()), left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::{calm, snapshot_of};
    use model::stats::IntegrationGauge;

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
