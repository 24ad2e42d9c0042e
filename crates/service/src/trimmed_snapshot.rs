//! The gauges that a page is sent with. With thousands of integrations they would weigh megabytes, of which the page shows a
//! few rows; the event stream brings the others.

use model::rules::health::{Health, Outlook};
use model::{stats::Snapshot, views::overview::LeftOut};
use std::{cmp::Reverse, collections::BTreeSet};

/// Up to this number nothing is left out.
const MAX_WHOLE: usize = 100;
/// More than any list of the worst shows.
const MAX_WORST: usize = 24;
/// More than any list of the longest waits shows.
const MAX_OLDEST: usize = 8;

/// The snapshot with the worst integrations and those that wait longest, and the totals of the others.
pub(crate) fn trim(snapshot: &Snapshot) -> (Snapshot, LeftOut) {
    if snapshot.integrations.len() <= MAX_WHOLE {
        return (snapshot.clone(), LeftOut::default());
    }
    let mut judged: Vec<_> =
        snapshot.integrations.iter().map(|gauge| (Health::of(gauge, snapshot.at), gauge)).collect();
    judged.sort_by(|a, b| Health::worst_first(*a, *b));
    let mut kept: BTreeSet<_> = judged.iter().take(MAX_WORST).map(|(_, g)| g.integration_id).collect();
    let mut waiting: Vec<_> = snapshot.integrations.iter().filter(|g| g.backlog > 0).collect();
    waiting.retain(|g| g.oldest_pending_age_seconds.is_some());
    waiting.sort_by_key(|g| (Reverse(g.oldest_pending_age_seconds), g.integration_id));
    kept.extend(waiting.iter().take(MAX_OLDEST).map(|g| g.integration_id));

    judged.retain(|(_, g)| !kept.contains(&g.integration_id));
    let outlooks = || judged.iter().map(|(_, gauge)| Outlook::of(gauge, snapshot.at));
    let left_out = LeftOut {
        integrations: judged.len(),
        needing_attention: judged.iter().filter(|(health, _)| health.needs_attention()).count(),
        eta_seconds: outlooks().filter_map(Outlook::seconds).max(),
        without_eta: outlooks().filter(|outlook| outlook.is_open()).count(),
    };
    let shown = snapshot.integrations.iter().filter(|g| kept.contains(&g.integration_id)).cloned();
    (snapshot.with_integrations(shown.collect()), left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fixtures::{idle_gauge, snapshot_of};
    use model::stats::IntegrationGauge;

    #[test]
    fn a_page_is_sent_with_the_worst_and_oldest_and_totals_of_the_rest() {
        let few = snapshot_of((0..100).map(|_| idle_gauge()).collect());
        assert_eq!(trim(&few), (few, LeftOut::default()));

        let mut many: Vec<_> = (0..5_000).map(|_| idle_gauge()).collect();
        for gauge in &mut many[40..80] {
            (gauge.failed_per_minute, gauge.backlog, gauge.eta_seconds) = (1, 5, Some(90));
        }
        (many[3].backlog, many[3].oldest_pending_age_seconds, many[3].eta_seconds) =
            (1, Some(7_200), Some(10));
        let oldest = many[3].integration_id;
        let (shown, left_out) = trim(&snapshot_of(many));
        let is_wrong = |g: &&IntegrationGauge| g.failed_per_minute > 0;
        assert_eq!(shown.integrations.iter().filter(is_wrong).count(), MAX_WORST);
        assert!(shown.integrations.iter().any(|g| g.integration_id == oldest));
        let rest = 5_000 - shown.integrations.len();
        assert_eq!(
            left_out,
            LeftOut {
                integrations: rest,
                needing_attention: 40 - MAX_WORST,
                eta_seconds: Some(90),
                without_eta: 0,
            }
        );
    }
}
