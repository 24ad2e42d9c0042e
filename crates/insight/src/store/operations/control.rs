//! Pause, resume, abort. Each waits for the group of rows that is being changed, and takes effect from the next one on.

use super::read;
use model::actor::Scope;
use model::id::{AppId, OperationId};
use model::operation::{Operation, OperationState};
use queue::error::QueueError;
use sqlx::PgConnection;

/// Stops an operation until it is resumed.
///
/// # Errors
/// `WrongOperationState` when it is neither held nor running; `NotFound`.
pub async fn pause(
    connection: &mut PgConnection,
    scope: Scope,
    id: OperationId,
) -> Result<Operation, QueueError> {
    let from = [OperationState::Held, OperationState::Running];
    change(connection, scope, id, Change { from: &from, to: OperationState::Paused, wanted: "paused" }).await
}

/// Continues an operation, with the rest of its hold if that is not over.
///
/// # Errors
/// `WrongOperationState` when it is not paused; `NotFound`.
pub async fn resume(
    connection: &mut PgConnection,
    scope: Scope,
    id: OperationId,
) -> Result<Operation, QueueError> {
    let from = [OperationState::Paused];
    change(connection, scope, id, Change { from: &from, to: OperationState::Held, wanted: "resumed" }).await
}

/// Ends an operation early. What was changed stays changed.
///
/// # Errors
/// `WrongOperationState` when it has ended; `NotFound`.
pub async fn abort(
    connection: &mut PgConnection,
    scope: Scope,
    id: OperationId,
) -> Result<Operation, QueueError> {
    let from = [OperationState::Held, OperationState::Running, OperationState::Paused];
    change(connection, scope, id, Change { from: &from, to: OperationState::Aborted, wanted: "aborted" })
        .await
}

struct Change<'a> {
    from: &'a [OperationState],
    to: OperationState,
    wanted: &'static str,
}

async fn change(
    connection: &mut PgConnection,
    scope: Scope,
    id: OperationId,
    change: Change<'_>,
) -> Result<Operation, QueueError> {
    let from: Vec<String> = change.from.iter().map(|state| state.as_str().to_owned()).collect();
    let changed = sqlx::query!(
        r#"
        update headgate.operations
        set state = case when $4 = 'held' and hold_until <= clock_timestamp() then 'running' else $4 end,
            finished_at = case when $4 = 'aborted' then clock_timestamp() end,
            -- The time of a pause is not caught up with.
            paced_until = case when $4 = 'held' then null else paced_until end
        where id = $1 and ($2::uuid is null or app_id = $2) and state = any ($3)
        "#,
        id as OperationId,
        scope.app_id() as Option<AppId>,
        &from,
        change.to.as_str(),
    )
    .execute(&mut *connection)
    .await?;
    let operation = read::get(connection, scope, id).await?;
    if changed.rows_affected() == 1 {
        Ok(operation)
    } else {
        Err(QueueError::WrongOperationState { state: operation.state, wanted: change.wanted })
    }
}
