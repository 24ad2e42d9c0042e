//! The sync status of an integration: the counts of the engine, what delivery knows of its records and results, and the notes on its failures.

use crate::{Allowed, Headgate, ServiceError, permission};
use chrono::{DateTime, Duration, Utc};
use delivery::{Marks, RecordCounts};
use insight::store::failures;
use insight::store::stats::{self, live_snapshots};
use model::actor::Scope;
use model::breaker::BreakerState;
use model::id::IntegrationId;
use model::integration::IntegrationState;
use model::sync_status::{SyncState, SyncStatus};
use queue::store::counts::{self, LaneCounts};

impl Headgate {
    /// The sync status of an integration, as its app may see it.
    ///
    /// # Errors
    /// No such integration.
    pub async fn status(
        &self,
        actor: &Allowed<permission::Read>,
        id: IntegrationId,
    ) -> Result<SyncStatus, ServiceError> {
        self.shown(actor, self.sync_status(actor.scope(), id).await?).await
    }

    /// Counts are current: the kept counters with their unfolded deltas. Nothing is masked yet.
    pub(crate) async fn sync_status(
        &self,
        scope: Scope,
        id: IntegrationId,
    ) -> Result<SyncStatus, ServiceError> {
        let integration = self.delivery.integration(scope, id).await?;
        let counts = counts::counts(self.pool(), id).await?;
        let marks = self.delivery.marks(id).await?;
        let records = self.delivery.record_counts(&integration).await?;
        let sampled = live_snapshots::eta_seconds(self.pool(), id).await?;
        let runs = integration.state == IntegrationState::Active && integration.breaker.at_once != Some(0);
        let eta_seconds = eta_seconds(sampled, runs, counts.outstanding(), &marks);
        Ok(SyncStatus {
            sync_state: sync_state(integration.state, integration.breaker.state, &counts, &records, &marks),
            eta_seconds,
            backlog: counts.backlog,
            processing: counts.processing,
            to_be_retried: counts.to_be_retried,
            dead_letters: counts.dead_letters,
            oldest_pending_age_seconds: marks.oldest_pending_age_seconds,
            last_success_at: marks.last_success_at,
            last_error: marks.last_error,
            records_total: records.total,
            records_in_sync: records.in_sync,
            retry_pyramid: counts.retry_pyramid,
            rate_limit: marks.rate_limit,
            notes: failures::notes(self.pool(), id).await?,
        })
    }
}

/// The sampler's estimate, which is based on the past. Jobs it has not counted yet (it samples once a second) are estimated by the limit
/// alone.
fn eta_seconds(sampled: Option<Option<i64>>, runs: bool, outstanding: i64, marks: &Marks) -> Option<i64> {
    match sampled {
        _ if outstanding == 0 => Some(0),
        _ if !runs => None,
        None | Some(Some(0)) => {
            let limit_per_second = marks
                .rate_limit
                .as_ref()
                .map(|limit| f64::from(limit.limit) / f64::from(limit.per_seconds.max(1)));
            stats::eta_seconds(stats::Pace { outstanding, limit_per_second, ..stats::Pace::default() })
        }
        Some(eta) => eta,
    }
}

/// While attempts fail, an integration without a success for so long is failing.
const FAILING_AFTER: Duration = Duration::seconds(60);
/// When no jobs are left, a failure counts as current for so long.
const RECENT: Duration = Duration::minutes(5);

fn sync_state(
    state: IntegrationState,
    breaker: BreakerState,
    counts: &LaneCounts,
    records: &RecordCounts,
    marks: &Marks,
) -> SyncState {
    if state != IntegrationState::Active {
        return SyncState::Paused;
    }
    // Jobs that the breaker stops do not get through, whatever the last answers were.
    match breaker {
        BreakerState::Open | BreakerState::HalfOpen if counts.outstanding() > 0 => return SyncState::Failing,
        BreakerState::Ramping if counts.outstanding() > 0 => return SyncState::Degraded,
        _ => {}
    }
    let has_trouble = counts.to_be_retried > 0 || counts.dead_letters > 0;
    if !has_trouble {
        return if counts.outstanding() > 0 {
            SyncState::Syncing
        } else if marks.last_success_at.is_none() {
            SyncState::NeverSynced
        } else if records.in_sync >= records.total {
            SyncState::InSync
        } else {
            SyncState::Degraded
        };
    }
    let failed_at = marks.last_error.as_ref().map(|error| error.at);
    if fails_now(marks.now, failed_at, marks.last_success_at, counts.outstanding() > 0) {
        SyncState::Failing
    } else {
        SyncState::Degraded
    }
}

fn fails_now(
    now: DateTime<Utc>,
    failed_at: Option<DateTime<Utc>>,
    succeeded_at: Option<DateTime<Utc>>,
    is_busy: bool,
) -> bool {
    let Some(failed_at) = failed_at else { return false };
    let is_silent = succeeded_at.is_none_or(|at| at < failed_at && now - at > FAILING_AFTER);
    is_silent && (is_busy || now - failed_at < RECENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::sync_status::LastError;

    const ALL: RecordCounts = RecordCounts { total: 6, in_sync: 6 };

    #[test]
    fn the_state_follows_from_counts_and_recent_results() {
        use SyncState::{Degraded, Failing, InSync, NeverSynced, Paused, Syncing};
        let now = DateTime::UNIX_EPOCH + Duration::days(1);
        let ago = |seconds: Option<i64>| seconds.map(|seconds| now - Duration::seconds(seconds));
        let active = IntegrationState::Active;
        // state, (backlog, to be retried, dead letters), seconds since the last failure and the last success
        for (state, (backlog, to_be_retried, dead_letters), failed, succeeded, word) in [
            (active, (0, 0, 0), None, None, NeverSynced),
            (active, (1, 0, 0), None, None, Syncing),
            (IntegrationState::Paused, (0, 0, 0), None, None, Paused),
            (active, (0, 0, 0), Some(5), Some(10), InSync),
            (active, (7, 0, 0), Some(5), None, Syncing),
            (active, (7, 1, 0), Some(5), Some(2), Degraded),
            (active, (0, 1, 0), Some(5), Some(30), Degraded),
            (active, (0, 1, 0), Some(5), Some(90), Failing),
            (active, (0, 1, 0), Some(5), None, Failing),
            (active, (0, 0, 3), Some(5), None, Failing),
            (active, (0, 0, 3), Some(900), Some(1_000), Degraded),
            (active, (4, 0, 3), Some(900), Some(1_000), Failing),
            (active, (0, 0, 3), None, None, Degraded),
            (IntegrationState::Paused, (7, 1, 1), Some(5), None, Paused),
            (IntegrationState::Disabled, (0, 0, 0), None, None, Paused),
        ] {
            let counts = LaneCounts { backlog, to_be_retried, dead_letters, ..LaneCounts::default() };
            let last_error =
                ago(failed).map(|at| LastError { at, message: "answered 500".into(), response_status: None });
            let marks = Marks {
                now,
                oldest_pending_age_seconds: None,
                last_success_at: ago(succeeded),
                last_error,
                rate_limit: None,
            };
            assert_eq!(
                sync_state(state, BreakerState::Closed, &counts, &ALL, &marks),
                word,
                "{backlog} {to_be_retried} {dead_letters} {failed:?} {succeeded:?}"
            );
        }
    }

    #[test]
    fn records_an_integration_does_not_have_are_not_in_sync() {
        let counts = LaneCounts::default();
        let now = DateTime::UNIX_EPOCH;
        let marks = Marks {
            now,
            oldest_pending_age_seconds: None,
            last_success_at: Some(now),
            last_error: None,
            rate_limit: None,
        };
        for (total, in_sync, word) in [
            (30, 0, SyncState::Degraded),
            (30, 29, SyncState::Degraded),
            (30, 30, SyncState::InSync),
            // Only jobs that are not about records.
            (0, 0, SyncState::InSync),
        ] {
            let records = RecordCounts { total, in_sync };
            let state = sync_state(IntegrationState::Active, BreakerState::Closed, &counts, &records, &marks);
            assert_eq!(state, word, "{in_sync} of {total}");
        }
    }

    #[test]
    fn jobs_that_a_breaker_stops_do_not_get_through() {
        let now = DateTime::UNIX_EPOCH;
        let marks = Marks {
            now,
            oldest_pending_age_seconds: None,
            last_success_at: Some(now),
            last_error: None,
            rate_limit: None,
        };
        for (breaker, backlog, word) in [
            (BreakerState::Open, 0, SyncState::InSync),
            (BreakerState::Open, 1, SyncState::Failing),
            (BreakerState::HalfOpen, 1, SyncState::Failing),
            (BreakerState::Ramping, 1, SyncState::Degraded),
            (BreakerState::Closed, 1, SyncState::Syncing),
        ] {
            let counts = LaneCounts { backlog, ..LaneCounts::default() };
            assert_eq!(
                sync_state(IntegrationState::Active, breaker, &counts, &ALL, &marks),
                word,
                "{breaker:?} {backlog}"
            );
            let paused = sync_state(IntegrationState::Paused, breaker, &counts, &ALL, &marks);
            assert_eq!(paused, SyncState::Paused, "{breaker:?}");
        }
    }
}
