//! Promotion: due jobs become claimable.

use crate::{
    error::{QueueError, Result},
    store::{connections::end, jobs::BEGIN, leader::Term},
};
use model::id::{JobId, WorkerId};
use sqlx::{PgConnection, PgPool};
use std::time::Duration;

/// What a promotion did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promoted {
    pub count: i32,
    /// Until the next job is due; none when nothing waits.
    pub next_in_ms: Option<u64>,
}

/// Moves up to `limit` due jobs from `waiting` to `ready`.
pub async fn promote_due(pool: &PgPool, term: Term, limit: i32) -> Result<Promoted> {
    // Planned for index lookups: with statistics taken while nothing waited, Postgres would read all of `waiting` to find the next due time.
    let mut transaction = pool.begin_with(BEGIN).await?;
    let promoted = promote_on(&mut transaction, term, limit).await;
    end(transaction, promoted).await
}

async fn promote_on(connection: &mut PgConnection, term: Term, limit: i32) -> Result<Promoted> {
    // Two statements: the second must see what the first removed.
    let count = sqlx::query_scalar!(
        r#"select headgate.promote_due($3) as "count!" where (select headgate.is_leader($1, $2))"#,
        term.holder as WorkerId,
        term.number,
        limit,
    )
    .fetch_optional(&mut *connection)
    .await?
    .unwrap_or(0);
    let next_in_ms = sqlx::query_scalar!(
        r#"
        select (extract(epoch from min(due_at) - clock_timestamp()) * 1000)::bigint as next_in_ms
        from headgate.waiting
        "#
    )
    .fetch_one(connection)
    .await?
    .map(|ms| u64::try_from(ms).unwrap_or(0));
    Ok(Promoted { count, next_in_ms })
}

/// Jobs that are due, those due longest first.
pub(crate) async fn due(pool: &PgPool, limit: i32) -> Result<Vec<JobId>> {
    let due = sqlx::query_scalar!(
        r#"
        select job_id as "job_id: JobId" from headgate.waiting where due_at <= (select clock_timestamp()) order by due_at, job_id limit $1
        "#,
        i64::from(limit),
    )
    .fetch_all(pool)
    .await?;
    Ok(due)
}

/// Moves those of these jobs that are due. When the database refuses to move one of them, none is moved.
pub(crate) async fn promote_these(pool: &PgPool, term: Term, ids: &[JobId]) -> Result<i32> {
    let mut transaction = pool.begin().await?;
    let count = sqlx::query_file_scalar!(
        "src/store/promote_these.sql",
        ids as &[JobId],
        term.holder as WorkerId,
        term.number
    )
    .fetch_one(&mut *transaction)
    .await;
    end(transaction, count.map_err(QueueError::from)).await
}

/// Makes these jobs due this long from now.
pub(crate) async fn postpone(pool: &PgPool, term: Term, ids: &[JobId], wait: Duration) -> Result<()> {
    sqlx::query!(
        r#"
        update headgate.waiting set due_at = clock_timestamp() + make_interval(secs => $2)
        where job_id = any ($1) and (select headgate.is_leader($3, $4))
        "#,
        ids as &[JobId],
        wait.as_secs_f64(),
        term.holder as WorkerId,
        term.number,
    )
    .execute(pool)
    .await?;
    Ok(())
}

/// Wakes lanes that sleep although they have work, because an entry of `ready` was committed seconds after it was made. Returns how many.
pub async fn wake_forgotten(pool: &PgPool) -> Result<i32> {
    // No term is tested: it is harmless if several processes do this.
    let woken =
        sqlx::query_scalar!(r#"select headgate.wake_forgotten() as "woken!""#).fetch_one(pool).await?;
    Ok(woken)
}

/// Rows of `lane_wakes` from which on duplicates are deleted.
const MAX_LANE_WAKES: i64 = 1_000;

/// Deletes the duplicates in `lane_wakes`, which pile up while no claim deletes them: one row of each lane is left. Returns how many were deleted.
///
/// Producers append rows without checking for others: they would have to wait for a producer or a claim that works on the same lane.
pub async fn thin_lane_wakes(pool: &PgPool) -> Result<u64> {
    let are_many = sqlx::query_scalar!(
        r#"select count(*) >= $1 as "are_many!" from (select from headgate.lane_wakes limit $1) w"#,
        MAX_LANE_WAKES,
    )
    .fetch_one(pool)
    .await?;
    if !are_many {
        return Ok(0);
    }
    let mut transaction = pool.begin().await?;
    // Taken as a claim takes it, in a statement of its own: a claim that ran at the same time could delete the row that we leave (it deletes all of
    // a lane), and the lane would sleep although it has work.
    let is_locked = sqlx::query_scalar!(r#"select pg_try_advisory_xact_lock(4711, 1) as "is_locked!""#)
        .fetch_one(&mut *transaction)
        .await?;
    if !is_locked {
        return Ok(0);
    }
    let thinned = sqlx::query!(
        r#"
        delete from headgate.lane_wakes where ctid = any (array(
            select w.place from (
                select ctid as place, row_number() over (partition by integration_id) as n from headgate.lane_wakes
            ) w
            where w.n > 1
        ))
        "#
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(thinned.rows_affected())
}
