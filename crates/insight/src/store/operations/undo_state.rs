//! The states of jobs before a bulk operation cancelled or requeued them, for an undo. (Dead letters are copied to the bin.)

use model::actor::Scope;
use model::id::{AppId, JobId, OperationId};
use queue::error::QueueError;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

/// Saves live jobs, and successors of jobs that are being processed, before they are cancelled.
pub(super) async fn save_before_cancel(
    connection: &mut PgConnection,
    scope: Scope,
    operation: OperationId,
    ids: &[JobId],
) -> Result<(), QueueError> {
    sqlx::query!(
        r#"
        insert into headgate.operation_jobs
            (operation_id, job_id, status, attempt, lost_leases, folded, run_at, retry_at, error_kind, error_message, fingerprint)
        select $1::uuid, j.id, j.status, j.attempt, j.lost_leases, j.folded, j.run_at, j.retry_at, j.error_kind, j.error_message,
            (select f.fingerprint from headgate.failing_jobs f where f.job_id = j.id)
        from headgate.jobs j where j.id = any ($2) and ($3::uuid is null or j.app_id = $3)
        union all
        select $1::uuid, (j.successor ->> 'id')::uuid, 0, 0, 0, (j.successor ->> 'folded')::int, (j.successor ->> 'run_at')::timestamptz,
            null::timestamptz, null, null, null
        from headgate.jobs j
        where j.successor is not null and (j.successor ->> 'id')::uuid = any ($2) and ($3::uuid is null or j.app_id = $3)
        on conflict do nothing
        "#,
        operation as OperationId,
        ids as &[JobId],
        scope.app_id() as Option<AppId>,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Saves jobs that wait for a retry, and cancelled ones, before they are requeued.
pub(super) async fn save_before_requeue(
    connection: &mut PgConnection,
    scope: Scope,
    operation: OperationId,
    ids: &[JobId],
) -> Result<(), QueueError> {
    sqlx::query!(
        r#"
        insert into headgate.operation_jobs
            (operation_id, job_id, status, attempt, lost_leases, folded, run_at, retry_at, error_kind, error_message, fingerprint)
        select $1::uuid, j.id, j.status, j.attempt, j.lost_leases, j.folded, j.run_at, j.retry_at, j.error_kind, j.error_message,
            (select f.fingerprint from headgate.failing_jobs f where f.job_id = j.id)
        from headgate.jobs j where j.id = any ($2) and j.status = 2 and ($3::uuid is null or j.app_id = $3)
        union all
        select $1::uuid, f.id, 4, f.attempt, 0, f.folded, f.run_at, null::timestamptz, null, null, null
        from headgate.finished_jobs f where f.id = any ($2) and f.status = 4 and ($3::uuid is null or f.app_id = $3)
        on conflict do nothing
        "#,
        operation as OperationId,
        ids as &[JobId],
        scope.app_id() as Option<AppId>,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes the saved states of those of this group that were not changed after all.
pub(super) async fn discard_unchanged(
    connection: &mut PgConnection,
    operation: OperationId,
    ids: &[JobId],
    changed: &[JobId],
) -> Result<(), QueueError> {
    sqlx::query!(
        "delete from headgate.operation_jobs where operation_id = $1 and job_id = any ($2) and job_id <> all ($3)",
        operation as OperationId,
        ids as &[JobId],
        changed as &[JobId],
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) struct SavedState {
    pub job_id: JobId,
    /// As in `jobs`, or 4: it was cancelled.
    pub status: i16,
    pub folded: i32,
}

impl SavedState {
    pub(super) const fn was_waiting(&self) -> bool {
        self.status == 2
    }
}

/// The states that an operation saved of these jobs.
pub(super) async fn saved(
    connection: &mut PgConnection,
    operation: OperationId,
    ids: &[JobId],
) -> Result<Vec<SavedState>, QueueError> {
    let saved = sqlx::query_as!(
        SavedState,
        r#"
        select job_id as "job_id: JobId", status, folded from headgate.operation_jobs
        where operation_id = $1 and job_id = any ($2)
        order by job_id
        "#,
        operation as OperationId,
        ids as &[JobId],
    )
    .fetch_all(connection)
    .await?;
    Ok(saved)
}

/// How many jobs an operation changed whose states are still saved.
pub(super) async fn count(connection: &mut PgConnection, operation: OperationId) -> Result<i64, QueueError> {
    let count = sqlx::query_scalar!(
        r#"
        select (select count(*) from headgate.bin where operation_id = $1)
            + (select count(*) from headgate.operation_jobs where operation_id = $1) as "count!"
        "#,
        operation as OperationId,
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

/// The jobs an operation changed, after `after`, in order.
pub(super) async fn jobs(
    pool: &PgPool,
    operation: OperationId,
    after: Option<Uuid>,
    limit: i64,
) -> Result<Vec<Uuid>, QueueError> {
    let jobs = sqlx::query_scalar!(
        r#"
        select job_id as "job_id!" from (
            (select job_id from headgate.bin where operation_id = $1 and ($2::uuid is null or job_id > $2) order by job_id limit $3)
            union all
            (select job_id from headgate.operation_jobs where operation_id = $1 and ($2::uuid is null or job_id > $2)
            order by job_id limit $3)
        ) changed
        order by job_id
        limit $3
        "#,
        operation as OperationId,
        after,
        limit,
    )
    .fetch_all(pool)
    .await?;
    Ok(jobs)
}
