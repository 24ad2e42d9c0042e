//! The group of one job, for the job's page.

use super::read::OWN_BY_CAUSE;
use chrono::{DateTime, Utc};
use model::{actor::Scope, failure::SameCause, id::JobId};
use queue::error::QueueError;
use sqlx::{PgExecutor, Postgres, QueryBuilder};

/// How many other jobs in scope failed last by the cause of a job, which waits for a retry or is a dead letter. Exact at any moment: deltas that are
/// not folded yet are counted.
pub async fn same_cause(
    executor: impl PgExecutor<'_>,
    scope: Scope,
    job_id: JobId,
) -> Result<Option<SameCause>, QueueError> {
    #[derive(sqlx::FromRow)]
    struct Row {
        cause: String,
        jobs: i64,
        first_at: DateTime<Utc>,
    }
    let mut sql = QueryBuilder::<Postgres>::new(
        "with own as (select left(f.fingerprint, 16) as cause from headgate.failing_jobs f where f.job_id = ",
    );
    sql.push_bind(job_id);
    sql.push(" union all select left(d.fingerprint, 16) from headgate.dead_letter_jobs d where d.job_id = ");
    sql.push_bind(job_id);
    sql.push(
        " limit 1) select own.cause, sum(k.jobs)::bigint as jobs, min(k.first_at) as first_at \
         from own cross join lateral (",
    );
    match scope.app_id() {
        None => {
            sql.push(
                "select g.waiting + g.dead as jobs, g.first_at from headgate.failure_groups g \
                 where g.cause = own.cause \
                 union all select d.waiting + d.dead, d.at from headgate.failure_deltas d \
                 where left(d.fingerprint, 16) = own.cause",
            );
        }
        Some(app_id) => {
            sql.push(format_args!(
                "select c.waiting + c.dead as jobs, c.first_at from {OWN_BY_CAUSE} and c.cause = own.cause \
                 and i.app_id = "
            ));
            sql.push_bind(app_id);
            sql.push(
                " union all select d.waiting + d.dead, d.at from headgate.failure_deltas d \
                 join headgate.integrations i on i.id = d.integration_id \
                 where left(d.fingerprint, 16) = own.cause and i.app_id = ",
            );
            sql.push_bind(app_id);
        }
    }
    sql.push(") k group by own.cause");
    let row: Option<Row> = sql.build_query_as().fetch_optional(executor).await?;
    Ok(row.and_then(|Row { cause, jobs, first_at }| {
        let fingerprint = cause.parse().ok()?;
        // A delta that subtracts may be there a moment before the one that added.
        Some(SameCause { fingerprint, others: (jobs - 1).max(0), first_at })
    }))
}
