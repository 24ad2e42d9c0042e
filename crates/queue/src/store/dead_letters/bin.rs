//! The bin: copies of dead letters from before they were purged or requeued, kept for 24 hours.

use crate::error::{QueueError, Result};
use model::actor::Scope;
use model::id::{AppId, DeadLetterId, JobId, OperationId};
use sqlx::PgConnection;
use uuid::Uuid;

/// Copies dead letters that an operation is about to requeue. Some may be gone when it does: see [`discard_copies`].
pub async fn keep_copies(
    connection: &mut PgConnection,
    scope: Scope,
    operation: OperationId,
    ids: &[Uuid],
) -> Result<()> {
    sqlx::query!(
        r#"
        insert into headgate.bin as b (id, job_id, app_id, integration_id, operation_id, was, letter)
        select d.id, d.job_id, d.app_id, d.integration_id, $1, 'requeued', to_jsonb(d)
        from headgate.dead_letter_jobs d
        where (d.id = any ($2) or d.job_id = any ($2)) and ($3::uuid is null or d.app_id = $3)
        order by d.id
        on conflict (id) do update
        set operation_id = excluded.operation_id, was = excluded.was, letter = excluded.letter, binned_at = clock_timestamp()
        "#,
        operation as OperationId,
        ids,
        scope.app_id() as Option<AppId>,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes the copies of those letters or jobs that were not requeued after all.
pub async fn discard_copies(
    connection: &mut PgConnection,
    operation: OperationId,
    ids: &[Uuid],
    requeued: &[JobId],
) -> Result<()> {
    sqlx::query!(
        "delete from headgate.bin where operation_id = $1 and (id = any ($2) or job_id = any ($2)) and job_id <> all ($3)",
        operation as OperationId,
        ids,
        requeued as &[JobId]
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A dead letter that an operation purged or requeued.
pub struct OperationLetter {
    pub id: DeadLetterId,
    pub job_id: JobId,
    /// Requeued, not purged: to undo that, its job has to leave the queue.
    pub is_requeued: bool,
    /// Changes folded into its job when it became a dead letter.
    pub folded: i32,
}

/// What an operation put into the bin of these jobs.
pub async fn of_operation(
    connection: &mut PgConnection,
    operation: OperationId,
    jobs: &[JobId],
) -> Result<Vec<OperationLetter>> {
    let letters = sqlx::query_as!(
        OperationLetter,
        r#"
        select id as "id: DeadLetterId", job_id as "job_id: JobId", was = 'requeued' as "is_requeued!",
            (letter ->> 'folded')::int as "folded!"
        from headgate.bin
        where operation_id = $1 and job_id = any ($2)
        order by id
        "#,
        operation as OperationId,
        jobs as &[JobId]
    )
    .fetch_all(connection)
    .await?;
    Ok(letters)
}

/// Turns jobs that this transaction has just cancelled back into dead letters; returns which. The row, the throughput and the batch count that
/// their cancellation wrote are removed, as if it had not happened.
pub async fn undo_requeue(
    connection: &mut PgConnection,
    operation: OperationId,
    jobs: &[JobId],
) -> Result<Vec<JobId>> {
    let back = sqlx::query_scalar!(
        r#"
        with cancelled as materialized (
            -- Rows of this transaction: `now()` is the time it began.
            delete from headgate.finished_jobs f where f.id = any ($2) and f.status = 4 and f.finished_at >= now()
            returning f.id, f.integration_id, f.batch_id
        ), letters as materialized (
            delete from headgate.bin b using cancelled c where b.operation_id = $1 and b.job_id = c.id
            returning b.letter
        ), restored as materialized (
            -- Whole rows: of the very type of the table.
            insert into headgate.dead_letter_jobs
            select r.* from letters l cross join lateral jsonb_populate_record(null::headgate.dead_letter_jobs, l.letter) r
            returning job_id, integration_id, attempt
        ), counted as (
            insert into headgate.job_count_deltas (integration_id, status, attempt, n)
            select integration_id, 5, attempt, count(*) from restored group by integration_id, attempt
        ), throughput as (
            insert into headgate.throughput_deltas (integration_id, cancelled)
            select integration_id, -count(*) from cancelled group by integration_id
        ), batched as (
            insert into headgate.batch_deltas (batch_id, failed, cancelled)
            select batch_id, count(*), -count(*) from cancelled where batch_id is not null group by batch_id
        )
        select job_id as "job_id: JobId" from restored
        "#,
        operation as OperationId,
        jobs as &[JobId]
    )
    .fetch_all(connection)
    .await?;
    Ok(back)
}

/// Restores purged letters; returns the jobs' ids. Letters of a deleted integration stay in the bin until they are deleted too. If the statement
/// loses a race, nothing is changed: repeat.
pub async fn restore_many(
    connection: &mut PgConnection,
    scope: Scope,
    ids: &[DeadLetterId],
) -> Result<Vec<JobId>> {
    let back = sqlx::query_scalar!(
        r#"
        with found as materialized (
            select b.id, b.integration_id from headgate.bin b
            where b.id = any ($1) and b.was = 'purged' and ($2::uuid is null or b.app_id = $2)
            order by b.id for update
        ), present as materialized (
            select i.id from headgate.integrations i where i.id in (select integration_id from found) order by i.id for key share
        ), letters as materialized (
            delete from headgate.bin b using found f, present p where b.id = f.id and p.id = f.integration_id
            returning b.letter
        ), restored as materialized (
            -- Whole rows: of the very type of the table.
            insert into headgate.dead_letter_jobs
            select r.* from letters l cross join lateral jsonb_populate_record(null::headgate.dead_letter_jobs, l.letter) r
            returning job_id, integration_id, attempt
        ), counted as (
            insert into headgate.job_count_deltas (integration_id, status, attempt, n)
            select integration_id, 5, attempt, count(*) from restored group by integration_id, attempt
        )
        select job_id as "job_id: JobId" from restored
        "#,
        ids as &[DeadLetterId],
        scope.app_id() as Option<AppId>,
    )
    .fetch_all(connection)
    .await?;
    Ok(back)
}

/// Restores a purged letter.
///
/// # Errors
/// [`QueueError::NotFound`] when the scope's bin has none, or its integration is deleted.
pub async fn restore(connection: &mut PgConnection, scope: Scope, id: DeadLetterId) -> Result<()> {
    if restore_many(connection, scope, &[id]).await?.is_empty() { Err(QueueError::NotFound) } else { Ok(()) }
}
