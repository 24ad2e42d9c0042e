//! Bringing jobs back by hand, with all attempts before them.

use crate::{
    error::QueueError,
    store::jobs::{cancel::leave_queue, get::find, keys},
};
use model::{
    actor::Scope,
    id::{DeadLetterId, IntegrationId, JobId},
    job::{Job, JobStatus, rank},
    rules::transition::can_requeue,
};
use sqlx::PgConnection;

/// Brings a job back: a dead letter, one that was called off, or one that waits for its retry and should not. It keeps its id. When
/// a live job of the same deduplication id exists, that one takes the work over and is the answer.
///
/// Run it in a transaction: it is several statements. Wake the workers after the commit.
///
/// # Errors
/// [`QueueError::NotFound`], or [`QueueError::WrongState`] when the job needs no requeue.
pub async fn requeue(connection: &mut PgConnection, scope: Scope, id: JobId) -> Result<Job, QueueError> {
    let job = find(connection, scope, id).await?.ok_or(QueueError::NotFound)?;
    let wrong = || QueueError::WrongState { status: job.status, wanted: "requeued" };
    if !can_requeue(job.status) {
        return Err(wrong());
    }
    let back = match job.status {
        JobStatus::Failed => bring_back_dead_letter(connection, scope, Which::Job(id)).await?,
        JobStatus::Cancelled => bring_back_cancelled(connection, scope, &job).await?,
        _ => begin_anew(connection, id).await?.then_some(id),
    };
    // Someone else was quicker: the job is no more where it was found.
    let id = back.ok_or_else(wrong)?;
    find(connection, scope, id).await?.ok_or(QueueError::NotFound)
}

/// A dead letter, by one of its two ids.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Which {
    Job(JobId),
    DeadLetter(DeadLetterId),
}

struct Back {
    id: JobId,
    job_id: JobId,
    is_back: bool,
}

/// Answers the job that does the work now; none when there is no such dead letter.
pub(crate) async fn bring_back_dead_letter(
    connection: &mut PgConnection,
    scope: Scope,
    which: Which,
) -> Result<Option<JobId>, QueueError> {
    let (job_id, id) = match which {
        Which::Job(id) => (Some(id.0), None),
        Which::DeadLetter(id) => (None, Some(id.0)),
    };
    let line = sqlx::query!(
        r#"
        select job_id as "job_id: JobId", integration_id as "integration_id: IntegrationId", serialize_key
        from headgate.dead_letter_jobs
        where (job_id = $1 or id = $2) and ($3::uuid is null or app_id = $3)
        "#,
        job_id,
        id,
        scope.app_id().map(|id| id.0)
    )
    .fetch_optional(&mut *connection)
    .await?;
    let Some(line) = line else { return Ok(None) };
    hold_integration(connection, line.integration_id).await?;
    let place = place(connection, line.integration_id, line.serialize_key.as_deref(), line.job_id).await?;
    let back = sqlx::query_file_as!(
        Back,
        "src/store/jobs/requeue_dead.sql",
        job_id,
        id,
        scope.app_id().map(|id| id.0)
    )
    .fetch_optional(&mut *connection)
    .await?;
    line_up(connection, back, place).await
}

async fn bring_back_cancelled(
    connection: &mut PgConnection,
    scope: Scope,
    job: &Job,
) -> Result<Option<JobId>, QueueError> {
    hold_integration(connection, job.integration_id).await?;
    let place = place(connection, job.integration_id, job.serialize_key.as_deref(), job.id).await?;
    let back = sqlx::query_file_as!(
        Back,
        "src/store/jobs/requeue_cancelled.sql",
        job.id.0,
        scope.app_id().map(|id| id.0),
        rank(&job.job_type, job.priority)
    )
    .fetch_optional(&mut *connection)
    .await?;
    line_up(connection, back, place).await
}

/// Keeps the integration from being deleted until we commit: what came back would belong to nobody. One that is gone already has no
/// lane, and the statement brings nothing back.
async fn hold_integration(
    connection: &mut PgConnection,
    integration_id: IntegrationId,
) -> Result<(), QueueError> {
    sqlx::query!("select 1 as one from headgate.integrations where id = $1 for key share", integration_id.0)
        .fetch_optional(connection)
        .await?;
    Ok(())
}

/// A job with a serialize key comes back at the end of the line.
async fn place(
    connection: &mut PgConnection,
    integration_id: IntegrationId,
    key: Option<&str>,
    job_id: JobId,
) -> Result<Vec<keys::Place>, QueueError> {
    match key {
        Some(key) => keys::take_places(connection, &[keys::Keyed { integration_id, key, job_id }]).await,
        None => Ok(Vec::new()),
    }
}

async fn line_up(
    connection: &mut PgConnection,
    back: Option<Back>,
    places: Vec<keys::Place>,
) -> Result<Option<JobId>, QueueError> {
    let Some(back) = back else { return Ok(None) };
    debug_assert!(places.iter().all(|place| place.job_id == back.job_id));
    if !places.is_empty() {
        if back.is_back {
            keys::line_up(connection, places).await?;
        } else {
            // Nobody took the place: a key with nobody in line is forgotten.
            let (lanes, keys): (Vec<_>, Vec<_>) =
                places.into_iter().map(|place| (place.integration_id, place.key)).unzip();
            keys::advance(connection, &lanes, &keys).await?;
        }
    }
    Ok(Some(back.id))
}

/// A job that waits for its retry runs now, as if for the first time.
async fn begin_anew(connection: &mut PgConnection, id: JobId) -> Result<bool, QueueError> {
    leave_queue(connection, &[id]).await?;
    let done = sqlx::query!(
        r#"
        with found as materialized (
            select j.id, j.integration_id, j.attempt from headgate.jobs j where j.id = $1 and j.status = 2 for update
        ), begun as (
            update headgate.jobs j
            set status = 0, attempt = 0, retry_at = null, run_at = clock_timestamp(), lost_leases = 0
            from found f where j.id = f.id
            returning j.integration_id, j.rank, j.created_at, j.id
        ), now_ready as (
            insert into headgate.ready (integration_id, rank, created_at, job_id)
            select integration_id, rank, created_at, id from begun
            on conflict do nothing
        ), counted as (
            insert into headgate.job_count_deltas (integration_id, status, attempt, n)
            select integration_id, 2, attempt, -1 from found
            union all
            select integration_id, 0, 0, 1 from found
        )
        select id from begun
        "#,
        id.0
    )
    .fetch_optional(connection)
    .await?;
    Ok(done.is_some())
}
