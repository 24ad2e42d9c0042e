//! One job with its attempts, wherever it lies.

use crate::{
    error::QueueError,
    store::jobs::{
        filter::{self, Part},
        rows::{JobRow, select},
    },
};
use model::{
    actor::Scope,
    attempt::{Attempt, AttemptOutcome},
    id::{JobId, WorkerId},
    job::{Job, JobDetail, JobStatus, Progress, Twin},
};
use serde_json::Value;
use sqlx::{PgConnection, PgPool, QueryBuilder};

/// A job with its attempts, oldest first.
///
/// # Errors
/// [`QueueError::NotFound`] when there is none in scope.
pub async fn get(pool: &PgPool, scope: Scope, id: JobId) -> Result<JobDetail, QueueError> {
    let mut connection = pool.acquire().await?;
    let job = find(&mut connection, scope, id).await?.ok_or(QueueError::NotFound)?;
    let (attempts, last) = attempts(&mut connection, &job).await?;
    let twins = twins(&mut connection, &job).await?;
    Ok(JobDetail { job, attempts, progress: last.progress, twins, result: last.result })
}

/// The job of this id, or behind the dead letter of this id.
///
/// # Errors
/// When the database cannot be asked.
pub async fn behind(pool: &PgPool, scope: Scope, id: JobId) -> Result<Option<Job>, QueueError> {
    let mut connection = pool.acquire().await?;
    if let Some(job) = find(&mut connection, scope, id).await? {
        return Ok(Some(job));
    }
    let dead = sqlx::query_scalar!(
        r#"select job_id as "id: JobId" from headgate.dead_letter_jobs where id = $1"#,
        id.0
    )
    .fetch_optional(&mut *connection)
    .await?;
    match dead {
        Some(id) => find(&mut connection, scope, id).await,
        None => Ok(None),
    }
}

/// The job, if it is in scope. A job moves from one place to the next while we look: once more finds it there.
pub(crate) async fn find(
    connection: &mut PgConnection,
    scope: Scope,
    id: JobId,
) -> Result<Option<Job>, QueueError> {
    for _ in 0..2 {
        if let Some(row) = look(connection, scope, id).await? {
            return Ok(Some(Job::from(row)));
        }
    }
    Ok(None)
}

async fn look(connection: &mut PgConnection, scope: Scope, id: JobId) -> Result<Option<JobRow>, QueueError> {
    let mut query = QueryBuilder::new("select * from (");
    for (index, part) in Part::ALL.into_iter().enumerate() {
        query.push(if index == 0 { "(" } else { " union all (" }).push(select(part));
        query.push(format_args!(" and {} = ", part.job_id())).push_bind(id.0);
        filter::push_scope(&mut query, scope, part);
        query.push(")");
    }
    query.push(") found limit 1");
    Ok(query.build_query_as::<JobRow>().fetch_optional(connection).await?)
}

/// What only the attempt that runs, that ended well, or that was stopped, has.
#[derive(Default)]
struct Last {
    progress: Option<Progress>,
    result: Option<Value>,
}

/// The failed attempts, and the one that ended well, was stopped because the job was called off, or still runs.
async fn attempts(connection: &mut PgConnection, job: &Job) -> Result<(Vec<Attempt>, Last), QueueError> {
    let ended = sqlx::query_scalar!(
        r#"
        select case
            when d.attempts is null then headgate.attempts_of($1)
            else d.attempts
        end as "attempts!"
        from (select 1) one left join headgate.dead_letter_jobs d on d.job_id = $1
        "#,
        job.id.0
    )
    .fetch_one(&mut *connection)
    .await?;
    let mut attempts: Vec<Attempt> = serde_json::from_value(ended).unwrap_or_else(|error| {
        tracing::error!(job.id = %job.id, %error, "the attempts of job {} cannot be read", job.id);
        Vec::new()
    });
    add_exchanges(connection, job.id, &mut attempts).await?;
    let last = sqlx::query!(
        r#"
        select worker_id as "worker_id: WorkerId", duration_ms, response_status, response_excerpt, null::jsonb as progress, result
        from headgate.finished_jobs
        -- One that was called off while it waited has no worker.
        where id = $1 and (status = 3 or (status = 4 and outcome = 'cancelled' and worker_id is not null))
        union all
        select worker_id, null, null, null, progress, null from headgate.jobs where id = $1 and status = 1
        "#,
        job.id.0
    )
    .fetch_optional(connection)
    .await?;
    let outcome = match job.status {
        JobStatus::Completed => Some(AttemptOutcome::Completed),
        JobStatus::Processing => Some(AttemptOutcome::Running),
        // Unless it failed before it was stopped, or was lost: then it is among them.
        JobStatus::Cancelled => (attempts.last().is_none_or(|last| last.started_at != job.started_at))
            .then_some(AttemptOutcome::Cancelled),
        _ => None,
    };
    if let (Some(outcome), Some(last)) = (outcome, last) {
        attempts.push(Attempt {
            attempt: job.attempt,
            worker_id: last.worker_id,
            started_at: job.started_at,
            finished_at: job.completed_at.or(job.cancelled_at),
            outcome,
            error_kind: None,
            error_message: None,
            response_status: last.response_status,
            response_excerpt: last.response_excerpt,
            duration_ms: last.duration_ms,
            next_wait_ms: None,
            next_wait_reason: None,
            exchange: None,
        });
        let progress = last.progress.and_then(|progress| serde_json::from_value(progress).ok());
        return Ok((attempts, Last { progress, result: last.result }));
    }
    Ok((attempts, Last::default()))
}

/// What was folded into it, as the accepting statement wrote it.
async fn twins(connection: &mut PgConnection, job: &Job) -> Result<Vec<Twin>, QueueError> {
    if job.folded == 0 {
        return Ok(Vec::new());
    }
    let kept = sqlx::query_scalar!(
        r#"
        select twins as "twins!"
        from (
            select twins from headgate.jobs where id = $1
            union all
            select headgate.twins_of(successor) from headgate.jobs
            where (successor ->> 'id')::uuid = $1 and successor is not null
            union all
            select twins from headgate.finished_jobs where id = $1
            union all
            select twins from headgate.dead_letter_jobs where job_id = $1
        ) places
        where twins is not null
        limit 1
        "#,
        job.id.0
    )
    .fetch_optional(connection)
    .await?
    .unwrap_or_default();
    // Of what came in one call the first is the job itself, which the statement does not leave out.
    let more = kept.len().saturating_sub(usize::try_from(job.folded).unwrap_or_default());
    Ok(kept.into_iter().skip(more).filter_map(Twin::unpack).collect())
}

/// What went over the wire stands with the attempts, also with those whose rest a dead letter keeps.
async fn add_exchanges(
    connection: &mut PgConnection,
    id: JobId,
    attempts: &mut [Attempt],
) -> Result<(), QueueError> {
    let kept = sqlx::query!(
        r#"
        select attempt, started_at, exchange as "exchange!"
        from headgate.job_attempts where job_id = $1 and exchange is not null
        "#,
        id.0
    )
    .fetch_all(connection)
    .await?;
    for row in kept {
        // Numbers repeat when a job is requeued, times do not.
        let its = attempts
            .iter_mut()
            .find(|attempt| attempt.attempt == row.attempt && attempt.started_at == row.started_at);
        // One that a later version wrote, and this one cannot read, is none.
        if let (Some(attempt), Ok(exchange)) = (its, serde_json::from_value(row.exchange)) {
            attempt.exchange = Some(exchange);
        }
    }
    Ok(())
}
