//! Undoing bulk operations: jobs go back to the state before, as far as nothing has happened to them since.

use super::restore::{EndedIds, restore_to_queue};
use crate::error::Result;
use crate::store::jobs::cancel::one::lock_integrations_and_keys;
use crate::store::jobs::rows::entries::{enter_queue, leave_queue};
use crate::store::jobs::rows::lock::lock;
use model::actor::Scope;
use model::id::{AppId, JobId, OperationId};
use sqlx::PgConnection;

/// Locks those of the jobs that wait for their first attempt after a requeue, and whose number of folded changes is still the one in `folded`;
/// returns which. Until the transaction ends no worker gets them.
///
/// # Errors
/// When it lost a race: nothing is changed, repeat.
pub async fn lock_untried(
    connection: &mut PgConnection,
    scope: Scope,
    ids: &[JobId],
    folded: &[i32],
) -> Result<Vec<JobId>> {
    lock_integrations_and_keys(connection, ids).await?;
    lock(connection, ids).await?;
    let untried = sqlx::query_scalar!(
        r#"
        select j.id as "id: JobId"
        from unnest($1::uuid[], $2::int[]) as g (id, folded)
        join headgate.jobs j on j.id = g.id
        where j.status = 0 and j.attempt = 0 and j.folded = g.folded and j.successor is null and ($3::uuid is null or j.app_id = $3)
        order by j.integration_id, j.deduplication_id collate "C" nulls last, j.id
        "#,
        ids as &[JobId],
        folded,
        scope.app_id() as Option<AppId>,
    )
    .fetch_all(connection)
    .await?;
    Ok(untried)
}

/// Restores those of the jobs that an operation cancelled and that are still cancelled, each with the attempts and the wait it had before.
/// Returns which were restored themselves: the work of the others is done by a newer job.
///
/// # Errors
/// When it lost a race: nothing is changed, repeat.
pub async fn restore_cancelled(
    connection: &mut PgConnection,
    scope: Scope,
    operation: OperationId,
    ids: &[JobId],
) -> Result<Vec<JobId>> {
    let cancelled = sqlx::query_scalar!(
        r#"
        select id as "id: JobId" from headgate.finished_jobs
        where id = any ($1) and status = 4 and outcome not like 'coalesced into %'
        "#,
        ids as &[JobId]
    )
    .fetch_all(&mut *connection)
    .await?;
    let restored = restore_to_queue(connection, scope, EndedIds::Jobs(&cancelled)).await?;
    let restored: Vec<JobId> =
        restored.iter().filter(|one| one.id == one.job_id).map(|one| one.job_id).collect();
    restore_attempts(connection, operation, &restored).await?;
    Ok(restored)
}

/// Restores the attempts and the time that jobs had before an operation changed them, if they wait for their first attempt. Their keys are locked,
/// and their rows are locked or were inserted by this transaction.
pub async fn restore_attempts(
    connection: &mut PgConnection,
    operation: OperationId,
    ids: &[JobId],
) -> Result<()> {
    leave_queue(connection, ids).await?;
    sqlx::query!(
        r#"
        with before as materialized (
            -- A job that was being processed was interrupted: it is retried at once.
            select m.job_id, m.status <> 0 as is_retried, m.attempt, m.lost_leases, m.run_at, m.error_kind, m.error_message, m.fingerprint,
                case when m.status <> 0 then coalesce(m.retry_at, clock_timestamp()) end as retry_at
            from headgate.operation_jobs m
            where m.operation_id = $1 and m.job_id = any ($2) and m.status in (0, 1, 2)
        ), restored as (
            update headgate.jobs j
            set status = case when b.is_retried then 2 else 0 end, attempt = least(b.attempt, j.max_attempts - 1),
                retry_at = b.retry_at, run_at = coalesce(b.run_at, j.run_at), lost_leases = b.lost_leases, error_kind = b.error_kind,
                error_message = b.error_message
            from before b
            where j.id = b.job_id and j.status = 0 and j.attempt = 0
            returning j.id, j.integration_id, j.status, j.attempt
        ), failing as (
            -- It counts again among the jobs of its failure cause.
            insert into headgate.failing_jobs (job_id, integration_id, fingerprint)
            select r.id, r.integration_id, b.fingerprint from restored r join before b on b.job_id = r.id
            where b.fingerprint is not null and r.attempt > 0
            order by r.id
            on conflict (job_id) do nothing
        )
        insert into headgate.job_count_deltas (integration_id, status, attempt, n)
        select integration_id, 0, 0, -count(*) from restored group by integration_id
        union all
        select integration_id, status, attempt, count(*) from restored group by integration_id, status, attempt
        "#,
        operation as OperationId,
        ids as &[JobId]
    )
    .execute(&mut *connection)
    .await?;
    enter_queue(connection, ids).await?;
    Ok(())
}
