//! One group of rows: the changes, the cursor and the counts in one transaction under the operation's row lock.
//!
//! So each row is changed once, whatever crashes between two groups, and a pause or an abort takes effect from the next group on.

use super::{apply::BEGIN, selection::Selection, skip_reasons::Reasons, tally::Tally};
use model::id::{OperationId, WorkerId};
use model::text;
use queue::error::QueueError;
use queue::store::connections::begin;
use queue::store::leader::Term;
use sqlx::{PgPool, types::Json};
use uuid::Uuid;

/// Who runs an operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Runner {
    /// The leader, in the background.
    Leader(Term),
    /// The request that started it, if it is small.
    Request,
}

impl Runner {
    pub(super) fn holder(self) -> Option<WorkerId> {
        match self {
            Self::Leader(term) => Some(term.holder),
            Self::Request => None,
        }
    }

    pub(super) fn number(self) -> i64 {
        match self {
            Self::Leader(term) => term.number,
            Self::Request => 0,
        }
    }
}

pub(super) struct GroupRun {
    pub operation_id: OperationId,
    pub runner: Runner,
    /// The row's expected cursor: it differs if another process continued meanwhile.
    pub cursor: Option<Uuid>,
    pub rate: Option<i32>,
}

impl GroupRun {
    /// Applies the action to a group; none when the operation was paused or aborted, or another process leads now.
    pub(super) async fn apply(
        &self,
        pool: &PgPool,
        selection: &Selection,
        group: &[Uuid],
    ) -> Result<Option<Tally>, QueueError> {
        let mut transaction = begin(pool, BEGIN).await?;
        let operation = sqlx::query!(
            r#"
            select skipped_reasons as "skipped_reasons: Json<Reasons>" from headgate.operations
            where id = $1 and state = 'running' and cursor_id is not distinct from $2
                and ($3::uuid is null or (select headgate.is_leader($3, $4)))
            for update
            "#,
            self.operation_id as OperationId,
            self.cursor,
            self.runner.holder() as Option<WorkerId>,
            self.runner.number(),
        )
        .fetch_optional(&mut *transaction)
        .await?;
        let Some(operation) = operation else {
            transaction.rollback().await?;
            return Ok(None);
        };
        let tally = selection.apply(&mut transaction, self.operation_id, group).await?;
        let mut reasons = operation.skipped_reasons.0;
        for (reason, count) in &tally.skipped {
            *reasons.entry(*reason).or_default() += count;
        }
        let seconds = self.rate.map(|rate| group.len() as f64 / f64::from(rate.max(1)));
        // A delay of up to a second is caught up with: the rate is kept on average, however long the loop sleeps.
        sqlx::query!(
            r#"
            update headgate.operations
            set started_at = coalesce(started_at, clock_timestamp()), changed = changed + $2, skipped = skipped + $3, cursor_id = $4,
                skipped_reasons = $6, paced_until = greatest(
                    coalesce(paced_until, clock_timestamp()), clock_timestamp() - interval '1 second'
                ) + make_interval(secs => $5)
            where id = $1
            "#,
            self.operation_id as OperationId,
            tally.changed,
            tally.skipped.values().sum::<i64>(),
            group.last().copied(),
            seconds,
            Json(reasons) as _,
        )
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(Some(tally))
    }

    /// Skips a row that cannot be changed, and records why.
    pub(super) async fn skip(
        &self,
        pool: &PgPool,
        group: &[Uuid],
        error: &QueueError,
    ) -> Result<(), QueueError> {
        tracing::warn!(operation.id = %self.operation_id, row = ?group, %error, "a bulk operation skips a row");
        sqlx::query!(
            r#"
            update headgate.operations
            set skipped = skipped + 1, cursor_id = $2, error_message = $3,
                skipped_reasons = skipped_reasons
                    || jsonb_build_object('refused', coalesce((skipped_reasons ->> 'refused')::bigint, 0) + 1)
            where id = $1 and state = 'running' and cursor_id is not distinct from $4
                and ($5::uuid is null or (select headgate.is_leader($5, $6)))
            "#,
            self.operation_id as OperationId,
            group.last().copied(),
            text::sanitise(&format!("{group:?}: {error}"), 500),
            self.cursor,
            self.runner.holder() as Option<WorkerId>,
            self.runner.number(),
        )
        .execute(pool)
        .await?;
        Ok(())
    }
}
