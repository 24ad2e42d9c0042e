//! Requeuing and purging dead letters.

use crate::{
    error::QueueError,
    store::jobs::{Which, bring_back_dead_letter, find},
};
use model::{actor::Scope, id::DeadLetterId, job::Job};
use sqlx::PgConnection;

/// Brings a dead letter back as the job it was; answers that job, or the live one that takes the work over.
///
/// Run it in a transaction: it is several statements. Wake the workers after the commit.
///
/// # Errors
/// [`QueueError::NotFound`] when there is none in scope.
pub async fn requeue(
    connection: &mut PgConnection,
    scope: Scope,
    id: DeadLetterId,
) -> Result<Job, QueueError> {
    let job = bring_back_dead_letter(connection, scope, Which::DeadLetter(id))
        .await?
        .ok_or(QueueError::NotFound)?;
    find(connection, scope, job).await?.ok_or(QueueError::NotFound)
}

/// Deletes a dead letter for good.
///
/// # Errors
/// [`QueueError::NotFound`] when there is none in scope.
pub async fn purge(connection: &mut PgConnection, scope: Scope, id: DeadLetterId) -> Result<(), QueueError> {
    let purged = sqlx::query!(
        r#"
        with gone as materialized (
            delete from headgate.dead_letter_jobs where id = $1 and ($2::uuid is null or app_id = $2)
            returning integration_id, attempt
        ), counted as (
            insert into headgate.job_count_deltas (integration_id, status, attempt, n)
            select integration_id, 5, attempt, -1 from gone
        )
        select count(*) as "n!" from gone
        "#,
        id.0,
        scope.app_id().map(|id| id.0)
    )
    .fetch_one(connection)
    .await?;
    if purged.n == 0 { Err(QueueError::NotFound) } else { Ok(()) }
}
