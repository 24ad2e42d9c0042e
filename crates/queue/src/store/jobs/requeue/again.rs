//! Requeuing jobs, with all their attempts.

use crate::error::{QueueError, Result};
use crate::store::jobs::cancel::one::lock_keys;
use crate::store::jobs::cancel::park;
use crate::store::jobs::read::get::find;
use crate::store::jobs::requeue::restore::{EndedIds, prepare, restore_to_queue};
use crate::store::jobs::rows::entries::{enter_queue, leave_queue};
use model::actor::Scope;
use model::id::{AppId, JobId};
use model::job::{Job, JobStatus};
use model::rules::transition::can_requeue;
use sqlx::PgConnection;
use std::collections::HashSet;

/// Requeues a job: a dead letter, a cancelled job, one that is to be retried now instead of later, or one that is parked with its paused batch and
/// is to run alone. It keeps its id. When a live job of the same deduplication id exists, that one takes the work over and is returned.
///
/// Run it in a transaction: it is several statements. Wake the workers after the commit.
///
/// # Errors
/// [`QueueError::NotFound`], or [`QueueError::WrongState`] when the job needs no requeue.
pub async fn requeue(connection: &mut PgConnection, scope: Scope, id: JobId) -> Result<Job> {
    let job = find(connection, scope, id).await?.ok_or(QueueError::NotFound)?;
    if !park::resume_detached(connection, scope, &[id]).await?.is_empty() && job.status == JobStatus::Pending
    {
        return find(connection, scope, id).await?.ok_or(QueueError::NotFound);
    }
    let wrong = || QueueError::WrongState { status: job.status, wanted: "requeued" };
    if !can_requeue(job.status) {
        return Err(wrong());
    }
    let requeued = match job.status {
        JobStatus::Failed | JobStatus::Cancelled => {
            restore_to_queue(connection, scope, EndedIds::Jobs(&[id]))
                .await?
                .into_iter()
                .map(|one| one.id)
                .next()
        }
        _ => restart_retries(connection, scope, &[id]).await?.into_iter().next(),
    };
    // None: the status of the job has changed since it was read.
    let id = requeued.ok_or_else(wrong)?;
    find(connection, scope, id).await?.ok_or(QueueError::NotFound)
}

/// Requeues those of the jobs that are in scope and can be requeued, as [`requeue`] does with one; returns which. Run it in a transaction.
///
/// # Errors
/// When it lost a race: nothing is changed, repeat.
pub async fn requeue_many(
    connection: &mut PgConnection,
    scope: Scope,
    ids: &[JobId],
) -> Result<HashSet<JobId>> {
    // Keys before jobs, and `waiting` before jobs: the order of locks.
    let prepared = prepare(connection, scope, EndedIds::Jobs(ids)).await?;
    let mut done: HashSet<JobId> = restart_retries(connection, scope, ids).await?.into_iter().collect();
    done.extend(prepared.store(connection, scope).await?.into_iter().map(|one| one.job_id));
    done.extend(park::resume_detached(connection, scope, ids).await?);
    Ok(done)
}

/// Restarts jobs that wait for their retry, with all attempts; returns which. Those that are the head of their serialize key, or have none, run now.
///
/// It locks their keys, because the job before one of them may end meanwhile and make it the head; and then the rows, as a cancel does. Each is a
/// statement of its own, so that it sees what was committed while the one before it waited.
async fn restart_retries(connection: &mut PgConnection, scope: Scope, ids: &[JobId]) -> Result<Vec<JobId>> {
    let waiting = sqlx::query_scalar!(
        r#"
        select id as "id: JobId" from headgate.jobs
        where id = any ($1) and status = 2 and ($2::uuid is null or app_id = $2)
        order by integration_id, deduplication_id collate "C" nulls last, id
        "#,
        ids as &[JobId],
        scope.app_id() as Option<AppId>,
    )
    .fetch_all(&mut *connection)
    .await?;
    if waiting.is_empty() {
        return Ok(Vec::new());
    }
    lock_keys(connection, &waiting).await?;
    leave_queue(connection, &waiting).await?;
    let restarted = sqlx::query_scalar!(
        r#"
        with found as materialized (
            select j.id, j.integration_id, j.attempt
            from unnest($1::uuid[]) with ordinality as g (id, n)
            cross join lateral (
                select j.id, j.integration_id, j.attempt from headgate.jobs j where j.id = g.id and j.status = 2 for update offset 0
            ) j
        ), restarted as (
            update headgate.jobs j
            set status = 0, attempt = 0, retry_at = null, run_at = clock_timestamp(), lost_leases = 0, is_parked = false,
                follows_batch = false
            from found f where j.id = f.id
            returning j.id
        ), failing_no_more as (
            -- The job starts from the beginning: it has no failure cause any more.
            delete from headgate.failing_jobs f using restarted r where f.job_id = r.id
        ), counted as (
            insert into headgate.job_count_deltas (integration_id, status, attempt, n)
            select integration_id, 2, attempt, -count(*) from found group by integration_id, attempt
            union all
            select integration_id, 0, 0, count(*) from found group by integration_id
        )
        select id as "id: JobId" from restarted
        "#,
        &waiting as &[JobId]
    )
    .fetch_all(&mut *connection)
    .await?;
    // All jobs whose entries were removed: another transaction may have restarted one of them just before.
    enter_queue(connection, &waiting).await?;
    Ok(restarted)
}
