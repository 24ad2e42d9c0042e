//! Applies an operation to rows, with the statements of the actions on single jobs (one row is a set of one), so that a bulk operation can do nothing
//! that they cannot.

use super::selection::Selection;
use super::skip_reasons::{self, Reasons};
use super::tally::Tally;
use super::undo_state;
use model::id::{DeadLetterId, JobId, OperationId};
use model::operation::{BulkAction, BulkSubject};
use queue::error::QueueError;
use queue::store::dead_letters;
use queue::store::jobs::{self, EndedIds};
use sqlx::PgConnection;
use uuid::Uuid;

/// Rows of one transaction: few enough that nobody waits long for their locks, enough that commits are not the largest cost.
pub(super) const GROUP: usize = 250;

/// How long a group waits for a locked job; then its rows are tried one by one, and only the locked one again. With a longer timeout a slow
/// producer would keep every bulk operation waiting.
pub(super) const BEGIN: &str = "begin; set local lock_timeout = '500ms'";

impl Selection {
    /// Applies the action to each, and saves its earlier state; those whose state no longer allows it are skipped.
    pub(super) async fn apply(
        &self,
        conn: &mut PgConnection,
        operation: OperationId,
        ids: &[Uuid],
    ) -> Result<Tally, QueueError> {
        let scope = self.scope;
        match (self.subject, self.action) {
            (_, BulkAction::Undo) => match self.undoes {
                Some(undone) => undone.apply(conn, scope, &typed(ids, JobId)).await,
                None => Ok(Tally::default()),
            },
            (BulkSubject::Jobs, BulkAction::Cancel) => {
                let jobs = typed(ids, JobId);
                undo_state::save_before_cancel(conn, scope, operation, &jobs).await?;
                let changed = jobs::cancel_many(conn, scope, &jobs).await?.into_iter().collect();
                self.tally(conn, operation, &jobs, changed).await
            }
            (BulkSubject::Jobs, BulkAction::Requeue) => {
                let jobs = typed(ids, JobId);
                dead_letters::keep_copies(conn, scope, operation, ids).await?;
                undo_state::save_before_requeue(conn, scope, operation, &jobs).await?;
                let changed: Vec<JobId> = jobs::requeue_many(conn, scope, &jobs).await?.into_iter().collect();
                dead_letters::discard_copies(conn, operation, ids, &changed).await?;
                self.tally(conn, operation, &jobs, changed).await
            }
            (BulkSubject::DeadLetters, BulkAction::Requeue) => {
                let letters = typed(ids, DeadLetterId);
                dead_letters::keep_copies(conn, scope, operation, ids).await?;
                let back = jobs::restore_to_queue(conn, scope, EndedIds::DeadLetters(&letters)).await?;
                let jobs: Vec<JobId> = back.iter().map(|one| one.job_id).collect();
                dead_letters::discard_copies(conn, operation, ids, &jobs).await?;
                Ok(Tally::of_letters(jobs.len(), ids.len()))
            }
            (BulkSubject::DeadLetters, BulkAction::Purge) => {
                let letters = typed(ids, DeadLetterId);
                let purged = dead_letters::purge_many(conn, scope, Some(operation), &letters).await?;
                Ok(Tally::of_letters(purged, ids.len()))
            }
            // Refused by `NewBulk::check`.
            (BulkSubject::Jobs, BulkAction::Purge)
            | (BulkSubject::DeadLetters, BulkAction::Cancel)
            | (BulkSubject::App | BulkSubject::Integration, _)
            | (_, BulkAction::Delete) => Ok(Tally::default()),
        }
    }

    async fn tally(
        &self,
        conn: &mut PgConnection,
        operation: OperationId,
        ids: &[JobId],
        changed: Vec<JobId>,
    ) -> Result<Tally, QueueError> {
        if changed.len() == ids.len() {
            return Ok(Tally::new(changed.len(), Reasons::new()));
        }
        undo_state::discard_unchanged(conn, operation, ids, &changed).await?;
        let left: Vec<JobId> = ids.iter().copied().filter(|id| !changed.contains(id)).collect();
        Ok(Tally::new(changed.len(), skip_reasons::of(conn, &left).await?))
    }
}

fn typed<T>(ids: &[Uuid], of: impl Fn(Uuid) -> T) -> Vec<T> {
    ids.iter().copied().map(of).collect()
}

/// Whether a retry may succeed: see [`queue::error::is_race`].
pub(super) fn is_race(error: &QueueError) -> bool {
    matches!(error, QueueError::Database(error) if queue::error::is_race(error))
}
