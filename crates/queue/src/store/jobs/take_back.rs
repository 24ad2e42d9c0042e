//! Jobs put back where a bulk action found them, as far as nothing happened to them since.

use super::{
    bring_back::{Which, bring_back},
    cancel::{lock, lock_ahead},
    entries::{enter_queue, leave_queue},
};
use crate::error::QueueError;
use model::{
    actor::Scope,
    id::{AppId, JobId, OperationId},
};
use sqlx::PgConnection;

/// Locks those of the jobs that wait for their first attempt since they were requeued, and into which nothing was folded since they were as
/// `folded` says; answers which. Until the transaction ends no worker gets them.
///
/// # Errors
/// When the database is away, or lost a race: nothing is changed, repeat.
pub(crate) async fn lock_untried(
    connection: &mut PgConnection,
    scope: Scope,
    ids: &[JobId],
    folded: &[i32],
) -> Result<Vec<JobId>, QueueError> {
    lock_ahead(connection, ids).await?;
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

/// Brings those of the jobs back that an operation cancelled and that are cancelled still, each with the attempts and the wait it had then.
/// Answers which are back themselves: the others' work a newer job does.
///
/// # Errors
/// When the database is away, or lost a race: nothing is changed, repeat.
pub(crate) async fn revive(
    connection: &mut PgConnection,
    scope: Scope,
    operation: OperationId,
    ids: &[JobId],
) -> Result<Vec<JobId>, QueueError> {
    let cancelled = sqlx::query_scalar!(
        r#"
        select id as "id: JobId" from headgate.finished_jobs
        where id = any ($1) and status = 4 and outcome not like 'coalesced into %'
        "#,
        ids as &[JobId]
    )
    .fetch_all(&mut *connection)
    .await?;
    let back = bring_back(connection, scope, Which::Jobs(&cancelled)).await?;
    let back: Vec<JobId> = back.iter().filter(|one| one.id == one.job_id).map(|one| one.job_id).collect();
    stand_as_before(connection, operation, &back).await?;
    Ok(back)
}

/// Gives jobs that wait for their first attempt the attempts and the time back that they had before an operation changed them. Their keys are
/// locked, and their rows too, or this transaction made them.
///
/// # Errors
/// When the database is away.
pub(crate) async fn stand_as_before(
    connection: &mut PgConnection,
    operation: OperationId,
    ids: &[JobId],
) -> Result<(), QueueError> {
    leave_queue(connection, ids).await?;
    sqlx::query!(
        r#"
        with before as materialized (
            -- One that a worker had was interrupted: it is tried again, at once.
            select m.job_id, m.status <> 0 as is_retried, m.attempt, m.lost_leases, m.run_at, m.error_kind, m.error_message, m.fingerprint,
                case when m.status <> 0 then coalesce(m.retry_at, clock_timestamp()) end as retry_at
            from headgate.operation_jobs m
            where m.operation_id = $1 and m.job_id = any ($2) and m.status in (0, 1, 2)
        ), stood as (
            update headgate.jobs j
            set status = case when b.is_retried then 2 else 0 end, attempt = least(b.attempt, j.max_attempts - 1),
                retry_at = b.retry_at, run_at = coalesce(b.run_at, j.run_at), lost_leases = b.lost_leases, error_kind = b.error_kind,
                error_message = b.error_message
            from before b
            where j.id = b.job_id and j.status = 0 and j.attempt = 0
            returning j.id, j.integration_id, j.status, j.attempt
        ), failing as (
            -- It is among the failures of its cause again.
            insert into headgate.failing_jobs (job_id, integration_id, fingerprint)
            select s.id, s.integration_id, b.fingerprint from stood s join before b on b.job_id = s.id
            where b.fingerprint is not null and s.attempt > 0
            order by s.id
            on conflict (job_id) do nothing
        )
        insert into headgate.job_count_deltas (integration_id, status, attempt, n)
        select integration_id, 0, 0, -count(*) from stood group by integration_id
        union all
        select integration_id, status, attempt, count(*) from stood group by integration_id, status, attempt
        "#,
        operation as OperationId,
        ids as &[JobId]
    )
    .execute(&mut *connection)
    .await?;
    enter_queue(connection, ids).await?;
    Ok(())
}
