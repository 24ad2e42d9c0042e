//! Doing it, through the statements the single buttons run (one row is a set of one), so that a bulk action can do nothing they
//! could not.

use super::{
    memory,
    selection::Selection,
    why::{self, Reasons},
};
use crate::{
    error::QueueError,
    store::{
        dead_letters,
        jobs::{self, Which},
    },
};
use model::{
    id::{DeadLetterId, JobId, OperationId},
    operation::{BulkAction, BulkSubject, SkipReason},
};
use sqlx::PgConnection;
use uuid::Uuid;

/// Rows of one transaction: few enough that nobody waits long for their locks, enough that commits do not cost most.
pub(super) const GROUP: usize = 250;

/// How long a group waits for a job that somebody holds: row by row, only that one is tried again. Longer, and a producer that takes its time
/// would keep every bulk action waiting.
pub(super) const BEGIN: &str = "begin; set local lock_timeout = '500ms'";

/// How it went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub changed: i64,
    pub skipped: Reasons,
}

impl Tally {
    pub(super) fn new(changed: usize, skipped: Reasons) -> Self {
        Self { changed: count(changed), skipped }
    }

    /// So many of so many, the others not there any more.
    fn of_letters(changed: usize, of: usize) -> Self {
        let gone = count(of.saturating_sub(changed));
        let skipped = (gone > 0).then_some((SkipReason::Gone, gone)).into_iter().collect();
        Self::new(changed, skipped)
    }
}

impl Selection {
    /// Applies the action to each, and remembers where it stood; those not in a state that allows it any more are skipped.
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
                memory::before_cancel(conn, scope, operation, &jobs).await?;
                let changed = jobs::cancel_many(conn, scope, &jobs).await?.into_iter().collect();
                self.tally(conn, operation, &jobs, changed).await
            }
            (BulkSubject::Jobs, BulkAction::Requeue) => {
                let jobs = typed(ids, JobId);
                dead_letters::keep(conn, scope, operation, ids).await?;
                memory::before_requeue(conn, scope, operation, &jobs).await?;
                let changed: Vec<JobId> = jobs::requeue_many(conn, scope, &jobs).await?.into_iter().collect();
                dead_letters::forget(conn, operation, ids, &changed).await?;
                self.tally(conn, operation, &jobs, changed).await
            }
            (BulkSubject::DeadLetters, BulkAction::Requeue) => {
                let letters = typed(ids, DeadLetterId);
                dead_letters::keep(conn, scope, operation, ids).await?;
                let back = jobs::bring_back(conn, scope, Which::DeadLetters(&letters)).await?;
                let jobs: Vec<JobId> = back.iter().map(|one| one.job_id).collect();
                dead_letters::forget(conn, operation, ids, &jobs).await?;
                Ok(Tally::of_letters(jobs.len(), ids.len()))
            }
            (BulkSubject::DeadLetters, BulkAction::Purge) => {
                let letters = typed(ids, DeadLetterId);
                let purged = dead_letters::purge_many(conn, scope, Some(operation), &letters).await?;
                Ok(Tally::of_letters(purged, ids.len()))
            }
            // Refused when they are asked for.
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
        memory::forget_others(conn, operation, ids, &changed).await?;
        let left: Vec<JobId> = ids.iter().copied().filter(|id| !changed.contains(id)).collect();
        Ok(Tally::new(changed.len(), why::where_they_stand(conn, &left).await?))
    }
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn typed<T>(ids: &[Uuid], of: impl Fn(Uuid) -> T) -> Vec<T> {
    ids.iter().copied().map(of).collect()
}

/// Whether trying again may help: see [`crate::error::is_race`].
pub(super) fn is_race(error: &QueueError) -> bool {
    matches!(error, QueueError::Database(error) if crate::error::is_race(error))
}
