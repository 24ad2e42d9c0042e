//! The undo of a bulk operation: an operation of its own on what the first one changed. Jobs attempted since stay as they are.

use super::selection::Undone;
use super::tally::Tally;
use super::undo_state::{self, SavedState};
use super::{read, skip_reasons};
use model::actor::{Actor, Scope};
use model::id::{AppId, DeadLetterId, JobId, OperationId};
use model::operation::{BulkAction, Operation};
use model::text;
use queue::error::QueueError;
use queue::store::{dead_letters, jobs};
use sqlx::PgConnection;
use std::collections::HashSet;
use uuid::Uuid;

/// Ends an operation, if it has not ended, and begins to undo what it changed; returns the undone operation. Run it in a transaction.
///
/// # Errors
/// `WrongOperationState` when it changed nothing, ended more than 24 hours ago, was undone before, is an undo itself or a deletion; `NotFound`.
pub async fn undo(
    connection: &mut PgConnection,
    actor: &Actor,
    id: OperationId,
) -> Result<Operation, QueueError> {
    let scope = actor.scope();
    // Waits for the group of rows that is being changed; no other group follows.
    sqlx::query!(
        "select 1 as one from headgate.operations where id = $1 and ($2::uuid is null or app_id = $2) for update",
        id as OperationId,
        scope.app_id() as Option<AppId>,
    )
    .fetch_optional(&mut *connection)
    .await?;
    let first = read::get(&mut *connection, scope, id).await?;
    let matched = undo_state::count(connection, id).await?;
    if first.undo_until.is_none() || matched == 0 {
        return Err(QueueError::WrongOperationState { state: first.state, wanted: "undone" });
    }
    sqlx::query!(
        r#"
        with undone as (
            update headgate.operations
            set state = 'undone', finished_at = coalesce(finished_at, clock_timestamp())
            where id = $1
            returning subject, filter, app_id, breakdown
        )
        insert into headgate.operations
            (id, subject, action, filter, requested_by, app_id, state, started_at, matched, upper_id, undoes, breakdown)
        select $2, subject, 'undo', filter, $3, app_id, 'running', clock_timestamp(), $4, $5, $1, breakdown from undone
        "#,
        id as OperationId,
        OperationId::generate() as OperationId,
        text::sanitise(&actor.name, 255),
        matched,
        Uuid::max(),
    )
    .execute(&mut *connection)
    .await?;
    read::get(connection, scope, id).await
}

impl Undone {
    /// Brings these jobs into their earlier states.
    pub(super) async fn apply(
        self,
        connection: &mut PgConnection,
        scope: Scope,
        ids: &[JobId],
    ) -> Result<Tally, QueueError> {
        let letters = dead_letters::of_operation(connection, self.id, ids).await?;
        let saved = undo_state::saved(connection, self.id, ids).await?;
        let purged: Vec<DeadLetterId> =
            letters.iter().filter(|letter| !letter.is_requeued).map(|letter| letter.id).collect();
        let mut back: HashSet<JobId> = HashSet::new();
        if !purged.is_empty() {
            back.extend(dead_letters::restore_many(connection, scope, &purged).await?);
        }
        if self.action == BulkAction::Cancel {
            let cancelled: Vec<JobId> = saved.iter().map(|state| state.job_id).collect();
            back.extend(jobs::restore_cancelled(connection, scope, self.id, &cancelled).await?);
        } else {
            back.extend(self.undo_requeue(connection, scope, &letters, &saved).await?);
        }
        let left: Vec<JobId> = ids.iter().copied().filter(|id| !back.contains(id)).collect();
        let mut reasons = skip_reasons::of(connection, &left).await?;
        if self.action == BulkAction::Requeue {
            reasons = skip_reasons::for_undone_requeue(reasons);
        }
        Ok(Tally::new(back.len(), reasons))
    }

    /// Takes requeued jobs that were not attempted yet out of the queue: they are dead letters or cancelled again, or wait for their retry.
    async fn undo_requeue(
        self,
        connection: &mut PgConnection,
        scope: Scope,
        letters: &[dead_letters::OperationLetter],
        saved: &[SavedState],
    ) -> Result<Vec<JobId>, QueueError> {
        let requeued = letters.iter().filter(|letter| letter.is_requeued);
        let (ids, folded): (Vec<JobId>, Vec<i32>) = requeued
            .clone()
            .map(|letter| (letter.job_id, letter.folded))
            .chain(saved.iter().map(|state| (state.job_id, state.folded)))
            .unzip();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut untried = jobs::lock_untried(connection, scope, &ids, &folded).await?;
        let waited: HashSet<JobId> =
            saved.iter().filter(|state| state.was_waiting()).map(|state| state.job_id).collect();
        let waiting: Vec<JobId> = untried.extract_if(.., |id| waited.contains(id)).collect();
        if !waiting.is_empty() {
            jobs::restore_attempts(connection, self.id, &waiting).await?;
        }
        if untried.is_empty() {
            return Ok(waiting);
        }
        let cancelled = jobs::cancel_many(connection, scope, &untried).await?;
        let dead: Vec<JobId> =
            requeued.map(|letter| letter.job_id).filter(|id| cancelled.contains(id)).collect();
        dead_letters::undo_requeue(connection, self.id, &dead).await?;
        Ok(waiting.into_iter().chain(cancelled).collect())
    }
}
