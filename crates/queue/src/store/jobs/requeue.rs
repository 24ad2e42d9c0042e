//! Bringing jobs back by hand, with all attempts before them.

use crate::{
    error::QueueError,
    store::jobs::{
        bring_back::{Which, bring_back, prepare},
        cancel::lock_keys,
        entries::{enter_queue, leave_queue},
        get::find,
        hold,
    },
};
use model::{
    actor::Scope,
    id::{AppId, JobId},
    job::{Job, JobStatus},
    rules::transition::can_requeue,
};
use sqlx::PgConnection;
use std::collections::HashSet;

/// Brings a job back: a dead letter, one that was called off, one that waits for its retry and should not, or one that is held with its
/// paused batch and should go alone. It keeps its id. When
/// a live job of the same deduplication id exists, that one takes the work over and is the answer.
///
/// Run it in a transaction: it is several statements. Wake the workers after the commit.
///
/// # Errors
/// [`QueueError::NotFound`], or [`QueueError::WrongState`] when the job needs no requeue.
pub async fn requeue(connection: &mut PgConnection, scope: Scope, id: JobId) -> Result<Job, QueueError> {
    let job = find(connection, scope, id).await?.ok_or(QueueError::NotFound)?;
    if !hold::let_go_alone(connection, scope, &[id]).await?.is_empty() && job.status == JobStatus::Pending {
        return find(connection, scope, id).await?.ok_or(QueueError::NotFound);
    }
    let wrong = || QueueError::WrongState { status: job.status, wanted: "requeued" };
    if !can_requeue(job.status) {
        return Err(wrong());
    }
    let back = match job.status {
        JobStatus::Failed | JobStatus::Cancelled => {
            bring_back(connection, scope, Which::Jobs(&[id])).await?.into_iter().map(|back| back.id).next()
        }
        _ => begin_anew(connection, scope, &[id]).await?.into_iter().next(),
    };
    // Someone else was quicker: the job is no more where it was found.
    let id = back.ok_or_else(wrong)?;
    find(connection, scope, id).await?.ok_or(QueueError::NotFound)
}

/// Brings those of the jobs back that are in scope and can be, as [`requeue`] does with one; answers which. Run it in a transaction.
///
/// # Errors
/// When the database is away, or lost a race: nothing is changed, repeat.
pub(crate) async fn requeue_many(
    connection: &mut PgConnection,
    scope: Scope,
    ids: &[JobId],
) -> Result<HashSet<JobId>, QueueError> {
    // Keys before jobs, and `waiting` before jobs: the order of locks.
    let prepared = prepare(connection, scope, Which::Jobs(ids)).await?;
    let mut done: HashSet<JobId> = begin_anew(connection, scope, ids).await?.into_iter().collect();
    done.extend(prepared.store(connection, scope).await?.into_iter().map(|back| back.job_id));
    done.extend(hold::let_go_alone(connection, scope, ids).await?);
    Ok(done)
}

/// Jobs that wait for their retry begin anew; answers which. Those that are the first of their serialize key, or have none, run now.
///
/// Their keys are locked, because the one before it may end meanwhile and let it in; and then the rows, as by a cancel: each statement sees
/// what the one before it waited for.
async fn begin_anew(
    connection: &mut PgConnection,
    scope: Scope,
    ids: &[JobId],
) -> Result<Vec<JobId>, QueueError> {
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
    let begun = sqlx::query_scalar!(
        r#"
        with found as materialized (
            select j.id, j.integration_id, j.attempt
            from unnest($1::uuid[]) with ordinality as g (id, n)
            cross join lateral (
                select j.id, j.integration_id, j.attempt from headgate.jobs j where j.id = g.id and j.status = 2 for update offset 0
            ) j
        ), begun as (
            update headgate.jobs j
            set status = 0, attempt = 0, retry_at = null, run_at = clock_timestamp(), lost_leases = 0, is_held = false,
                follows_batch = false
            from found f where j.id = f.id
            returning j.id
        ), failing_no_more as (
            -- As if for the first time: what it failed by is over.
            delete from headgate.failing_jobs f using begun b where f.job_id = b.id
        ), counted as (
            insert into headgate.job_count_deltas (integration_id, status, attempt, n)
            select integration_id, 2, attempt, -count(*) from found group by integration_id, attempt
            union all
            select integration_id, 0, 0, count(*) from found group by integration_id
        )
        select id as "id: JobId" from begun
        "#,
        &waiting as &[JobId]
    )
    .fetch_all(&mut *connection)
    .await?;
    // All that left: someone else may have begun one anew just now.
    enter_queue(connection, &waiting).await?;
    Ok(begun)
}
