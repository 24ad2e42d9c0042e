//! What was appended becomes counts of each integration and cause, groups, and their trend.

use crate::{
    error::QueueError,
    store::{leader::Term, stats::fold::CHUNK},
};
use model::id::WorkerId;
use sqlx::PgPool;

/// `failure_deltas` into what is read; answers how many. Only the leader does it, so no row of a group is ever contended.
///
/// # Errors
/// When the database cannot be asked.
pub async fn fold(pool: &PgPool, term: Term) -> Result<i64, QueueError> {
    let folded =
        sqlx::query_file_scalar!("src/store/failures/fold.sql", term.holder as WorkerId, term.number, CHUNK,)
            .fetch_one(pool)
            .await?;
    Ok(folded)
}
