//! Doing it, through the statements the single buttons run, so that a bulk action can do nothing they could not.

use super::selection::Selection;
use crate::{
    error::QueueError,
    store::{
        dead_letters,
        jobs::{self, Which},
    },
};
use model::{
    id::{DeadLetterId, JobId},
    operation::{BulkAction, BulkSubject},
};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

/// Rows of one transaction: few enough that nobody waits long for their locks, enough that commits do not cost most.
pub(super) const GROUP: usize = 50;

/// How it went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub changed: i64,
    pub skipped: i64,
}

impl Selection {
    /// Applies the action to each; those not in a state that allows it any more are skipped.
    pub(super) async fn apply(&self, conn: &mut PgConnection, ids: &[Uuid]) -> Result<Tally, QueueError> {
        let changed = if (self.subject, self.action) == (BulkSubject::Jobs, BulkAction::Cancel) {
            let jobs: Vec<JobId> = ids.iter().copied().map(JobId).collect();
            jobs::cancel_many(conn, self.scope, &jobs).await?.len()
        } else {
            let mut changed = 0;
            for id in ids {
                changed += usize::from(self.apply_one(conn, *id).await?);
            }
            changed
        };
        let count = |n| i64::try_from(n).unwrap_or(i64::MAX);
        Ok(Tally { changed: count(changed), skipped: count(ids.len().saturating_sub(changed)) })
    }

    async fn apply_one(&self, conn: &mut PgConnection, id: Uuid) -> Result<bool, QueueError> {
        let scope = self.scope;
        let applied = match (self.subject, self.action) {
            (BulkSubject::Jobs, BulkAction::Requeue) => {
                // Most are dead letters, for which the job need not be looked up first.
                if jobs::bring_back_dead_letter(conn, scope, Which::Job(JobId(id))).await?.is_some() {
                    return Ok(true);
                }
                jobs::requeue(conn, scope, JobId(id)).await.map(drop)
            }
            (BulkSubject::DeadLetters, BulkAction::Requeue) => {
                let which = Which::DeadLetter(DeadLetterId(id));
                return Ok(jobs::bring_back_dead_letter(conn, scope, which).await?.is_some());
            }
            (BulkSubject::DeadLetters, BulkAction::Purge) => {
                dead_letters::purge(conn, scope, DeadLetterId(id)).await
            }
            // The first is done for all together; the others are refused when they are asked for.
            (BulkSubject::Jobs, BulkAction::Cancel | BulkAction::Purge)
            | (BulkSubject::DeadLetters, BulkAction::Cancel) => Err(QueueError::NotFound),
        };
        match applied {
            Ok(()) => Ok(true),
            Err(QueueError::NotFound | QueueError::WrongState { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Applies the action outside any operation. A group that lost a race against the workers is done again row by row.
    pub(super) async fn apply_now(&self, pool: &PgPool, ids: &[Uuid]) -> Result<Tally, QueueError> {
        let mut tally = Tally::default();
        for group in ids.chunks(GROUP) {
            let done = match self.apply_together(pool, group).await {
                Err(error) if is_race(&error) => self.apply_each(pool, group).await?,
                done => done?,
            };
            tally.changed += done.changed;
            tally.skipped += done.skipped;
        }
        Ok(tally)
    }

    async fn apply_together(&self, pool: &PgPool, ids: &[Uuid]) -> Result<Tally, QueueError> {
        let mut transaction = pool.begin().await?;
        let tally = self.apply(&mut transaction, ids).await?;
        transaction.commit().await?;
        Ok(tally)
    }

    async fn apply_each(&self, pool: &PgPool, ids: &[Uuid]) -> Result<Tally, QueueError> {
        let mut tally = Tally::default();
        for id in ids {
            let mut tries_left = 3;
            let done = loop {
                match self.apply_together(pool, std::slice::from_ref(id)).await {
                    Err(error) if is_race(&error) && tries_left > 0 => tries_left -= 1,
                    done => break done?,
                }
            };
            tally.changed += done.changed;
            tally.skipped += done.skipped;
        }
        Ok(tally)
    }
}

/// Whether trying again may help: see [`crate::error::is_race`].
pub(super) fn is_race(error: &QueueError) -> bool {
    matches!(error, QueueError::Database(error) if crate::error::is_race(error))
}
