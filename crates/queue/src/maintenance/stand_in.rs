//! Folds counters in processes that do not lead, when they have piled up.

use super::{MaintenanceHealth, run::with_causes};
use crate::store::stats::fold;
use sqlx::PgPool;
use std::time::Duration;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Between two looks.
const STEP: Duration = Duration::from_secs(1);
/// A busy leader leaves fewer.
const MANY: i64 = 1_000;

/// Every claim sums the deltas that are not folded. While nobody leads (for ten seconds after a leader died) or the leader does not come to
/// it, whoever finds too many folds them.
pub(super) async fn stand_in(pool: PgPool, health: MaintenanceHealth, token: CancellationToken) {
    loop {
        tokio::select! {
            () = token.cancelled() => return,
            () = sleep(STEP) => {}
        }
        if health.is_leader() {
            continue;
        }
        // A chunk at a time until few are left. A database that is away is said by others.
        while let Ok(fold::CHUNK..) = fold::job_counts_if_many(&pool, MANY)
            .await
            .inspect_err(|error| tracing::debug!(error = %with_causes(error), "counters not folded"))
        {
        }
    }
}
