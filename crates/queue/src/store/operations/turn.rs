//! One group of rows: the changes, the cursor and the counts in one transaction under the operation's row lock.
//!
//! Whatever dies between two groups, each row is touched once, and a pause or an abort holds from the next group on.

use super::{
    apply::{BEGIN, Tally},
    selection::Selection,
};
use crate::{error::QueueError, store::leader::Term};
use model::{
    id::{OperationId, WorkerId},
    text,
};
use sqlx::PgPool;
use uuid::Uuid;

/// One group's transaction.
pub(super) struct Turn {
    pub operation_id: OperationId,
    pub term: Term,
    /// Where the row's cursor must stand: nobody else went on meanwhile.
    pub cursor: Option<Uuid>,
    pub rate: Option<i32>,
}

impl Turn {
    /// Does it; none when the operation was paused or aborted, or is another leader's now.
    pub(super) async fn run(
        &self,
        pool: &PgPool,
        selection: &Selection,
        group: &[Uuid],
    ) -> Result<Option<Tally>, QueueError> {
        let mut transaction = pool.begin_with(BEGIN).await?;
        let is_ours = sqlx::query_scalar!(
            r#"
            select true as "is_ours!" from headgate.operations
            where id = $1 and state = 'running' and cursor_id is not distinct from $2 and (select headgate.is_leader($3, $4))
            for update
            "#,
            self.operation_id as OperationId,
            self.cursor,
            self.term.holder as WorkerId,
            self.term.number,
        )
        .fetch_optional(&mut *transaction)
        .await?;
        if is_ours.is_none() {
            transaction.rollback().await?;
            return Ok(None);
        }
        let tally = selection.apply(&mut transaction, group).await?;
        let seconds = self.rate.map(|rate| group.len() as f64 / f64::from(rate.max(1)));
        sqlx::query!(
            r#"
            update headgate.operations
            set started_at = coalesce(started_at, clock_timestamp()), changed = changed + $2, skipped = skipped + $3, cursor_id = $4,
                paced_until = greatest(paced_until, clock_timestamp()) + make_interval(secs => $5)
            where id = $1
            "#,
            self.operation_id as OperationId,
            tally.changed,
            tally.skipped,
            group.last().copied(),
            seconds,
        )
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(Some(tally))
    }

    /// Skips what cannot be changed, and says why.
    pub(super) async fn pass_over(
        &self,
        pool: &PgPool,
        group: &[Uuid],
        error: &QueueError,
    ) -> Result<(), QueueError> {
        tracing::warn!(operation.id = %self.operation_id, row = ?group, %error, "a bulk action passes over a row");
        sqlx::query!(
            r#"
            update headgate.operations
            set skipped = skipped + 1, cursor_id = $2, error_message = $3
            where id = $1 and state = 'running' and cursor_id is not distinct from $4 and (select headgate.is_leader($5, $6))
            "#,
            self.operation_id as OperationId,
            group.last().copied(),
            text::sanitise(&format!("{group:?}: {error}"), 500),
            self.cursor,
            self.term.holder as WorkerId,
            self.term.number,
        )
        .execute(pool)
        .await?;
        Ok(())
    }
}
