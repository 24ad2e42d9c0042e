//! What the test kit needs: claims of one particular job, and waits that end at once.

use crate::error::Result;
use crate::store::jobs::claim::take::{claim_on, take_turn};
use crate::store::jobs::read::rows::{JobRow, select};
use crate::store::jobs::{ClaimRequest, ClaimedJob, Part};
use model::id::{JobId, WorkerId};
use model::job::Job;
use sqlx::{PgConnection, PgPool, QueryBuilder};
use std::collections::HashMap;

const MAX_LISTED: i64 = 100;

/// The ready jobs of a type in the order in which a lane serves them.
pub(crate) async fn claim_order(pool: &PgPool, job_type: &str) -> Result<Vec<JobId>> {
    let ids = sqlx::query_scalar!(
        r#"
        select j.id as "id: JobId"
        from headgate.ready r
        join headgate.jobs j on j.id = r.job_id
        where j.job_type = $1
        order by r.rank, r.created_at, r.job_id limit $2
        "#,
        job_type,
        MAX_LISTED,
    )
    .fetch_all(pool)
    .await?;
    Ok(ids)
}

/// Claims this job with the real claim statement, from which all other ready jobs are hidden meanwhile; or, without an id, the job of the program
/// that is next. None when it cannot be claimed now. The worker is registered with the claim; [`remove_worker`] removes it.
pub(crate) async fn claim_one(
    pool: &PgPool,
    worker_id: WorkerId,
    program: Option<&str>,
    job_id: Option<JobId>,
) -> Result<Option<ClaimedJob>> {
    let mut transaction = pool.begin().await?;
    sqlx::query!(
        "insert into headgate.workers (id, host, pid, version, slots, lease_until)
         values ($1, 'test kit', 0, '0', 1, clock_timestamp() + interval '1 hour')",
        worker_id.0
    )
    .execute(&mut *transaction)
    .await?;
    if let Some(job_id) = job_id {
        sqlx::raw_sql(
            "create temporary table aside on commit drop as select r.* from headgate.ready r where false",
        )
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "with aside as (delete from headgate.ready where job_id <> $1 returning *) insert into pg_temp.aside select * from aside",
        )
        .bind(job_id)
        .execute(&mut *transaction)
        .await?;
    }
    let program = program.map(str::to_owned);
    let request = ClaimRequest { worker_id, wanted: 1, lane_cap: 1, busy: HashMap::new(), program };
    take_turn(&mut transaction).await?;
    let claimed = claim_on(&mut transaction, &request).await?.jobs()?.into_iter().next();
    if job_id.is_some() {
        sqlx::raw_sql("insert into headgate.ready select * from pg_temp.aside")
            .execute(&mut *transaction)
            .await?;
    }
    match claimed {
        Some(_) => transaction.commit().await?,
        None => transaction.rollback().await?,
    }
    Ok(claimed)
}

pub(crate) async fn remove_worker(pool: &PgPool, worker_id: WorkerId) -> Result<()> {
    sqlx::query!(
        r#"
        with forgotten as (delete from headgate.claim_batches where worker_id = $1)
        delete from headgate.workers where id = $1
        "#,
        worker_id.0
    )
    .execute(pool)
    .await?;
    Ok(())
}

/// Makes jobs due that wait for a time, one or all of them, and lets them be claimed; returns how many there were. Their times are changed, not the
/// clock: everything else keeps its time.
pub(crate) async fn let_time_pass(connection: &mut PgConnection, job_id: Option<JobId>) -> Result<u64> {
    let waiting = sqlx::query!(
        r#"
        with due as (
            update headgate.waiting set due_at = clock_timestamp()
            where ($1::uuid is null or job_id = $1)
            returning job_id
        ), failing as (
            update headgate.failing_jobs f set due_at = least(f.due_at, clock_timestamp())
            from due where f.job_id = due.job_id
        )
        update headgate.jobs j
        set retry_at = case when j.retry_at is null then null else least(j.retry_at, clock_timestamp()) end,
            run_at = least(j.run_at, clock_timestamp())
        from due where j.id = due.job_id
        "#,
        job_id.map(|id| id.0),
    )
    .execute(&mut *connection)
    .await?
    .rows_affected();
    promote_everything(connection).await?;
    Ok(waiting)
}

pub(crate) async fn promote_everything(connection: &mut PgConnection) -> Result<()> {
    sqlx::query_scalar!("select headgate.promote_due($1)", i32::MAX).fetch_one(connection).await?;
    Ok(())
}

/// The jobs of a type that wait for their first attempt, oldest first; 500 at most.
pub(crate) async fn pending(pool: &PgPool, job_type: &str) -> Result<Vec<Job>> {
    let mut query = QueryBuilder::new("select * from (");
    query.push(select(Part::Live)).push(" and j.status = 0 and j.job_type = ").push_bind(job_type.to_owned());
    query.push(" union all ").push(select(Part::Successors));
    query.push(" and j.successor ->> 'job_type' = ").push_bind(job_type.to_owned());
    query.push(") pending order by id limit 500");
    let rows = query.build_query_as::<JobRow>().fetch_all(pool).await?;
    Ok(rows.into_iter().map(Job::from).collect())
}
