//! Doing it, through the statements the single buttons run (one row is a set of one), so that a bulk action can do nothing they
//! could not.

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
pub(super) const GROUP: usize = 250;

/// How long a group waits for a job that somebody holds: row by row, only that one is tried again. Longer, and a producer that takes its time
/// would keep every bulk action waiting.
pub(super) const BEGIN: &str = "begin; set local lock_timeout = '500ms'";

/// How it went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub changed: i64,
    pub skipped: i64,
}

impl Selection {
    /// Applies the action to each; those not in a state that allows it any more are skipped.
    pub(super) async fn apply(&self, conn: &mut PgConnection, ids: &[Uuid]) -> Result<Tally, QueueError> {
        let changed = match (self.subject, self.action) {
            (BulkSubject::Jobs, BulkAction::Cancel) => {
                jobs::cancel_many(conn, self.scope, &typed(ids, JobId)).await?.len()
            }
            (BulkSubject::Jobs, BulkAction::Requeue) => {
                jobs::requeue_many(conn, self.scope, &typed(ids, JobId)).await?.len()
            }
            (BulkSubject::DeadLetters, BulkAction::Requeue) => {
                let ids = typed(ids, DeadLetterId);
                jobs::bring_back(conn, self.scope, Which::DeadLetters(&ids)).await?.len()
            }
            (BulkSubject::DeadLetters, BulkAction::Purge) => {
                dead_letters::purge_many(conn, self.scope, &typed(ids, DeadLetterId)).await?
            }
            // Refused when they are asked for.
            (BulkSubject::Jobs, BulkAction::Purge) | (BulkSubject::DeadLetters, BulkAction::Cancel) => 0,
        };
        let count = |n| i64::try_from(n).unwrap_or(i64::MAX);
        Ok(Tally { changed: count(changed), skipped: count(ids.len().saturating_sub(changed)) })
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
        let mut transaction = pool.begin_with(BEGIN).await?;
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

fn typed<T>(ids: &[Uuid], of: impl Fn(Uuid) -> T) -> Vec<T> {
    ids.iter().copied().map(of).collect()
}

/// Whether trying again may help: see [`crate::error::is_race`].
pub(super) fn is_race(error: &QueueError) -> bool {
    matches!(error, QueueError::Database(error) if crate::error::is_race(error))
}
