//! Folds job counters in processes that do not lead, when deltas have piled up.

use super::MaintenanceHealth;
use crate::store::counts::fold;
use sqlx::PgPool;
use std::time::Duration;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// A leader that folds, however busy, leaves fewer deltas.
const MANY: i64 = 1_000;

/// Every claim sums the deltas that are not folded. While there is no leader (for ten seconds after one died), or it is too busy to fold, any process
/// that finds too many folds them.
pub(super) async fn fold_when_many(pool: PgPool, health: MaintenanceHealth, token: CancellationToken) {
    loop {
        tokio::select! {
            () = token.cancelled() => return,
            () = sleep(CHECK_INTERVAL) => {}
        }
        if health.is_leader() {
            continue;
        }
        // A portion at a time until few are left. Others report it when the database is unavailable.
        while let Ok(fold::PORTION..) = fold::job_counts_if_many(&pool, MANY).await.inspect_err(
            |error| tracing::debug!(error = %error.with_causes(), "counters could not be folded"),
        ) {}
    }
}
