//! Claims of the test kit: one job and no other, whatever else could be claimed; and time that passes at once.

use crate::{
    error::QueueError,
    store::jobs::{
        ClaimedJob, Claims,
        claim::{claim_on, take_turn},
    },
};
use model::id::{JobId, WorkerId};
use sqlx::{PgConnection, PgPool};
use std::collections::HashMap;

/// Jobs of a type looked at for one that can be claimed.
const MOST_LOOKED_AT: i64 = 100;

/// The jobs of a type in the order a lane serves them.
pub(crate) async fn in_line(pool: &PgPool, job_type: &str) -> Result<Vec<JobId>, QueueError> {
    let ids = sqlx::query_scalar!(
        r#"
        select j.id as "id: JobId"
        from headgate.ready r
        join headgate.jobs j on j.id = r.job_id
        where j.job_type = $1
        order by r.rank, r.created_at, r.job_id limit $2
        "#,
        job_type,
        MOST_LOOKED_AT,
    )
    .fetch_all(pool)
    .await?;
    Ok(ids)
}

/// Claims this job, by the claim itself: everything else that could be claimed is out of its sight meanwhile. Or, when none is named, the
/// one whose turn it is among those of the program. None when it cannot be claimed now. The worker it is claimed for is registered with it; [`sign_off`] removes it.
pub(crate) async fn claim_one(
    pool: &PgPool,
    worker_id: WorkerId,
    program: Option<&str>,
    job_id: Option<JobId>,
) -> Result<Option<ClaimedJob>, QueueError> {
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
    let claims = Claims { worker_id, wanted: 1, lane_cap: 1, busy: HashMap::new(), program };
    take_turn(&mut transaction).await?;
    let claimed = claim_on(&mut transaction, &claims).await?.jobs()?.into_iter().next();
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

/// Forgets the worker and what it claimed.
pub(crate) async fn sign_off(pool: &PgPool, worker_id: WorkerId) -> Result<(), QueueError> {
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

/// Lets what waits for a time be due, one job or all of them, and makes it claimable; answers how many there were. Times move, not the
/// clock: everything else keeps the time it has.
pub(crate) async fn let_time_pass(
    connection: &mut PgConnection,
    job_id: Option<JobId>,
) -> Result<u64, QueueError> {
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

/// Makes claimable what is due.
pub(crate) async fn promote_everything(connection: &mut PgConnection) -> Result<(), QueueError> {
    sqlx::query_scalar!("select headgate.promote_due($1)", i32::MAX).fetch_one(connection).await?;
    Ok(())
}
