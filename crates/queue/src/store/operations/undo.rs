//! Taking a bulk action back: a bulk action of its own about what the first one changed. What was tried since stays as it is.

use super::{
    apply::Tally,
    memory::{self, Remembered},
    read, why,
};
use crate::{
    error::QueueError,
    store::{dead_letters, jobs},
};
use model::{
    actor::{Actor, Scope},
    id::{AppId, DeadLetterId, JobId, OperationId},
    operation::{BulkAction, Operation, OperationState},
    text,
};
use sqlx::PgConnection;
use std::collections::HashSet;
use uuid::Uuid;

/// Stops one for good, if it has not ended, and begins to take back what it changed; answers the one that is undone. Run it in a transaction.
///
/// # Errors
/// `WrongOperationState` when it changed nothing, ended more than 24 hours ago, was undone before, is an undo itself or a deletion; `NotFound`.
pub async fn undo(
    connection: &mut PgConnection,
    actor: &Actor,
    id: OperationId,
) -> Result<Operation, QueueError> {
    let scope = actor.scope();
    // Waits for the group of rows that is being changed; no other follows.
    sqlx::query!(
        "select 1 as one from headgate.operations where id = $1 and ($2::uuid is null or app_id = $2) for update",
        id as OperationId,
        scope.app_id() as Option<AppId>,
    )
    .fetch_optional(&mut *connection)
    .await?;
    let first = read::get(&mut *connection, scope, id).await?;
    let matched = memory::count(connection, id).await?;
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

/// The one that is taken back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Undone {
    pub id: OperationId,
    pub action: BulkAction,
}

impl Undone {
    /// Puts these jobs back where it found them.
    pub(super) async fn apply(
        self,
        connection: &mut PgConnection,
        scope: Scope,
        ids: &[JobId],
    ) -> Result<Tally, QueueError> {
        let letters = dead_letters::of_operation(connection, self.id, ids).await?;
        let remembered = memory::of(connection, self.id, ids).await?;
        let purged: Vec<DeadLetterId> =
            letters.iter().filter(|letter| !letter.is_requeued).map(|letter| letter.id).collect();
        let mut back: HashSet<JobId> = HashSet::new();
        if !purged.is_empty() {
            back.extend(dead_letters::restore_many(connection, scope, &purged).await?);
        }
        if self.action == BulkAction::Cancel {
            let cancelled: Vec<JobId> = remembered.iter().map(|one| one.job_id).collect();
            back.extend(jobs::revive(connection, scope, self.id, &cancelled).await?);
        } else {
            back.extend(self.take_out(connection, scope, &letters, &remembered).await?);
        }
        let left: Vec<JobId> = ids.iter().copied().filter(|id| !back.contains(id)).collect();
        let mut reasons = why::where_they_stand(connection, &left).await?;
        if self.action == BulkAction::Requeue {
            reasons = why::of_undone_requeue(reasons);
        }
        Ok(Tally::new(back.len(), reasons))
    }

    /// Requeued jobs that nobody tried yet, out of the queue again: back to the dead letters, to the cancelled ones, or to their wait.
    async fn take_out(
        self,
        connection: &mut PgConnection,
        scope: Scope,
        letters: &[dead_letters::Kept],
        remembered: &[Remembered],
    ) -> Result<Vec<JobId>, QueueError> {
        let requeued = letters.iter().filter(|letter| letter.is_requeued);
        let (ids, folded): (Vec<JobId>, Vec<i32>) = requeued
            .clone()
            .map(|letter| (letter.job_id, letter.folded))
            .chain(remembered.iter().map(|one| (one.job_id, one.folded)))
            .unzip();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut untried = jobs::lock_untried(connection, scope, &ids, &folded).await?;
        let waited: HashSet<JobId> =
            remembered.iter().filter(|one| one.was_waiting()).map(|one| one.job_id).collect();
        let again: Vec<JobId> = untried.extract_if(.., |id| waited.contains(id)).collect();
        if !again.is_empty() {
            jobs::stand_as_before(connection, self.id, &again).await?;
        }
        if untried.is_empty() {
            return Ok(again);
        }
        let called_off = jobs::cancel_many(connection, scope, &untried).await?;
        let dead: Vec<JobId> =
            requeued.map(|letter| letter.job_id).filter(|id| called_off.contains(id)).collect();
        dead_letters::put_back(connection, self.id, &dead).await?;
        Ok(again.into_iter().chain(called_off).collect())
    }
}

/// Whether one in that state may be taken back, if it changed something.
pub(super) const fn is_undoable(state: OperationState) -> bool {
    matches!(
        state,
        OperationState::Running | OperationState::Paused | OperationState::Done | OperationState::Aborted
    )
}
