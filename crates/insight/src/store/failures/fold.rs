//! Folds deltas into counts by integration and cause, groups, and their trend.

use model::id::WorkerId;
use queue::error::QueueError;
use queue::store::counts::fold::PORTION;
use queue::store::leader::Term;
use sqlx::PgPool;

/// Folds a portion of `failure_deltas`; returns how many. Only the leader does it, so the row of a group is never contended.
pub async fn fold(pool: &PgPool, term: Term) -> Result<i64, QueueError> {
    let folded = sqlx::query_file_scalar!(
        "src/store/failures/fold.sql",
        term.holder as WorkerId,
        term.number,
        PORTION,
    )
    .fetch_one(pool)
    .await?;
    Ok(folded)
}
