//! One job with its attempts, whichever table it is in.

use super::part::{self, Part};
use crate::error::{QueueError, Result};
use crate::store::jobs::read::rows::{JobRow, select};
use model::actor::Scope;
use model::attempt::{Attempt, AttemptOutcome};
use model::id::{JobId, WorkerId};
use model::job::{FoldedChange, Job, JobDetail, JobStatus, Progress};
use serde_json::Value;
use sqlx::{PgConnection, PgPool, QueryBuilder};

/// A job with its attempts, oldest first.
///
/// # Errors
/// [`QueueError::NotFound`] when there is none in scope.
pub async fn get(pool: &PgPool, scope: Scope, id: JobId) -> Result<JobDetail> {
    let mut connection = pool.acquire().await?;
    let job = find(&mut connection, scope, id).await?.ok_or(QueueError::NotFound)?;
    let (attempts, last) = attempts(&mut connection, &job).await?;
    let twins = folded_changes(&mut connection, &job).await?;
    Ok(JobDetail { job, attempts, progress: last.progress, twins, result: last.result })
}

/// The job with this id, or the one of the dead letter with this id.
pub async fn find_by_any_id(pool: &PgPool, scope: Scope, id: JobId) -> Result<Option<Job>> {
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

/// The job, if it is in scope. A job may move from one table to another during the query: a second query finds it there.
pub async fn find(connection: &mut PgConnection, scope: Scope, id: JobId) -> Result<Option<Job>> {
    for _ in 0..2 {
        if let Some(row) = read_once(connection, scope, id).await? {
            return Ok(Some(Job::from(row)));
        }
    }
    Ok(None)
}

async fn read_once(connection: &mut PgConnection, scope: Scope, id: JobId) -> Result<Option<JobRow>> {
    let mut query = QueryBuilder::new("select * from (");
    for (index, part) in Part::ALL.into_iter().enumerate() {
        query.push(if index == 0 { "(" } else { " union all (" }).push(select(part));
        query.push(format_args!(" and {} = ", part.job_id())).push_bind(id.0);
        part::push_scope(&mut query, scope, part);
        query.push(")");
    }
    query.push(") found limit 1");
    Ok(query.build_query_as::<JobRow>().fetch_optional(connection).await?)
}

/// What only an attempt that is running, completed or was cancelled has.
#[derive(Default)]
struct Last {
    progress: Option<Progress>,
    result: Option<Value>,
}

/// The failed attempts, and the one that completed, was cancelled or is still running.
async fn attempts(connection: &mut PgConnection, job: &Job) -> Result<(Vec<Attempt>, Last)> {
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
        -- A job that was cancelled while it waited has no worker.
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
        // If the last attempt failed before it was stopped, or was lost, it is among them already.
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

/// The changes that were folded into the job, as `enqueue.sql` wrote them.
async fn folded_changes(connection: &mut PgConnection, job: &Job) -> Result<Vec<FoldedChange>> {
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
    // When several came in one call, the first is the job itself: the statement does not leave it out.
    let more = kept.len().saturating_sub(usize::try_from(job.folded).unwrap_or_default());
    Ok(kept.into_iter().skip(more).filter_map(FoldedChange::unpack).collect())
}

/// HTTP exchanges are in the rows of the attempts, also for attempts of which a dead letter keeps the rest.
async fn add_exchanges(connection: &mut PgConnection, id: JobId, attempts: &mut [Attempt]) -> Result<()> {
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
        // One that a later version wrote and this one cannot read is left out.
        if let (Some(attempt), Ok(exchange)) = (its, serde_json::from_value(row.exchange)) {
            attempt.exchange = Some(exchange);
        }
    }
    Ok(())
}
