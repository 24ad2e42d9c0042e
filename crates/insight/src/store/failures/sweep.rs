//! Removes rows of `failing_jobs` whose job ended or was restarted without deleting its row.

use model::id::{JobId, WorkerId};
use queue::{error::QueueError, store::leader::Term};
use sqlx::PgPool;

/// Rows checked by one statement.
const PORTION: i64 = 2_000;

/// Checks the next portion after a job; returns its last job, none at the end.
pub async fn sweep(pool: &PgPool, term: Term, after: Option<JobId>) -> Result<Option<JobId>, QueueError> {
    let last = sqlx::query_scalar!(
        r#"
        with seen as materialized (
            select f.job_id, f.fingerprint from headgate.failing_jobs f
            where (select headgate.is_leader($1, $2)) and ($3::uuid is null or f.job_id > $3)
            order by f.job_id limit $4
        ), stale as materialized (
            -- A job that has failed has made an attempt, and waits for another or is processing it.
            select s.job_id from seen s
            where not exists (
                select 1 from headgate.jobs j where j.id = s.job_id and (j.status <> 0 or j.attempt > 0)
            )
        ), locked as materialized (
            select f.job_id from headgate.failing_jobs f where f.job_id in (select job_id from stale) for update skip locked
        ), gone as (
            delete from headgate.failing_jobs f using locked l where f.job_id = l.job_id
        )
        select job_id as "job_id: JobId" from seen order by job_id desc limit 1
        "#,
        term.holder as WorkerId,
        term.number,
        after as Option<JobId>,
        PORTION,
    )
    .fetch_optional(pool)
    .await?;
    Ok(last)
}
