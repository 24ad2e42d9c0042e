//! Requeuing and purging dead letters.

use crate::error::{QueueError, Result};
use crate::store::jobs::{EndedIds, find, restore_to_queue};
use model::actor::Scope;
use model::id::{DeadLetterId, OperationId};
use model::job::Job;
use sqlx::PgConnection;

/// Requeues a dead letter; returns its job, or the live one that takes the work over.
///
/// Run it in a transaction: it is several statements. Wake the workers after the commit.
///
/// # Errors
/// [`QueueError::NotFound`] when there is none in scope.
pub async fn requeue(connection: &mut PgConnection, scope: Scope, id: DeadLetterId) -> Result<Job> {
    let back = restore_to_queue(connection, scope, EndedIds::DeadLetters(&[id])).await?;
    let job = back.first().ok_or(QueueError::NotFound)?.id;
    find(connection, scope, job).await?.ok_or(QueueError::NotFound)
}

/// Moves a dead letter to the bin, from where it can be restored for 24 hours.
///
/// # Errors
/// [`QueueError::NotFound`] when there is none in scope.
pub async fn purge(connection: &mut PgConnection, scope: Scope, id: DeadLetterId) -> Result<()> {
    if purge_many(connection, scope, None, &[id]).await? == 0 { Err(QueueError::NotFound) } else { Ok(()) }
}

/// Moves those to the bin that exist and are in scope; returns how many. If the statement loses a race, nothing is changed: repeat.
pub async fn purge_many(
    connection: &mut PgConnection,
    scope: Scope,
    operation: Option<OperationId>,
    ids: &[DeadLetterId],
) -> Result<usize> {
    let purged = sqlx::query_scalar!(
        r#"
        with found as materialized (
            select id from headgate.dead_letter_jobs where id = any ($1) and ($2::uuid is null or app_id = $2)
            order by id for update
        ), gone as materialized (
            delete from headgate.dead_letter_jobs d using found f where d.id = f.id
            returning d.id, d.job_id, d.app_id, d.integration_id, d.attempt, to_jsonb(d) as letter
        ), binned as (
            insert into headgate.bin (id, job_id, app_id, integration_id, operation_id, was, letter)
            select id, job_id, app_id, integration_id, $3, 'purged', letter from gone
            on conflict (id) do update
            set operation_id = excluded.operation_id, was = excluded.was, letter = excluded.letter, binned_at = clock_timestamp()
        ), counted as (
            insert into headgate.job_count_deltas (integration_id, status, attempt, n)
            select integration_id, 5, attempt, -count(*) from gone group by integration_id, attempt
        )
        select count(*) as "n!" from gone
        "#,
        ids as &[DeadLetterId],
        scope.app_id().map(|id| id.0),
        operation as Option<OperationId>
    )
    .fetch_one(connection)
    .await?;
    Ok(usize::try_from(purged).unwrap_or_default())
}
