//! Due jobs become claimable.

use crate::{
    error::QueueError,
    pool::end,
    store::{jobs::BEGIN, leader::Term},
};
use model::id::{JobId, WorkerId};
use sqlx::{PgConnection, PgPool};
use std::time::Duration;

/// What a promotion did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promoted {
    /// Jobs moved.
    pub count: i32,
    /// When the next is due, from now; none when nothing waits.
    pub next_in_ms: Option<u64>,
}

/// Moves up to `most` due jobs from `waiting` to `ready`.
///
/// # Errors
/// When the database cannot be asked.
pub async fn promote_due(pool: &PgPool, term: Term, most: i32) -> Result<Promoted, QueueError> {
    // Planned to probe: statistics taken while nothing waited would have all that waits read for the next time.
    let mut transaction = pool.begin_with(BEGIN).await?;
    let promoted = promote_on(&mut transaction, term, most).await;
    end(transaction, promoted).await
}

async fn promote_on(connection: &mut PgConnection, term: Term, most: i32) -> Result<Promoted, QueueError> {
    // Two statements: the second must see what the first took away.
    let count = sqlx::query_scalar!(
        r#"select headgate.promote_due($3) as "count!" where (select headgate.is_leader($1, $2))"#,
        term.holder as WorkerId,
        term.number,
        most,
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

/// Jobs that are due, the longest first.
///
/// # Errors
/// When the database cannot be asked.
pub(crate) async fn due(pool: &PgPool, most: i32) -> Result<Vec<JobId>, QueueError> {
    let due = sqlx::query_scalar!(
        r#"
        select job_id as "job_id: JobId" from headgate.waiting where due_at <= (select clock_timestamp()) order by due_at, job_id limit $1
        "#,
        i64::from(most),
    )
    .fetch_all(pool)
    .await?;
    Ok(due)
}

/// Moves those of these jobs that are due.
///
/// # Errors
/// When the database cannot be asked, or refuses to move one of them: then none is moved.
pub(crate) async fn promote_these(pool: &PgPool, term: Term, ids: &[JobId]) -> Result<i32, QueueError> {
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

/// Lets jobs wait for so long from now, whenever they were due.
///
/// # Errors
/// When the database cannot be asked.
pub(crate) async fn postpone(
    pool: &PgPool,
    term: Term,
    ids: &[JobId],
    wait: Duration,
) -> Result<(), QueueError> {
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

/// Wakes lanes that sleep although they have work: an entry of `ready` that was committed seconds after it was made. Answers how many.
///
/// # Errors
/// When the database cannot be asked.
pub async fn wake_forgotten(pool: &PgPool) -> Result<i32, QueueError> {
    // Harmless by whomever it is done: no term is tested.
    let woken =
        sqlx::query_scalar!(r#"select headgate.wake_forgotten() as "woken!""#).fetch_one(pool).await?;
    Ok(woken)
}

/// Notes about lanes from which on the same ones are taken away.
const MOST_NOTES: i64 = 1_000;

/// Leaves one note of each lane, where no claim takes them away. Answers how many went.
///
/// Who appends notes asks for no others: it would have to wait for a producer or a claim that is at the same lane.
///
/// # Errors
/// When the database cannot be asked.
pub async fn thin_notes(pool: &PgPool) -> Result<u64, QueueError> {
    let are_many = sqlx::query_scalar!(
        r#"select count(*) >= $1 as "are_many!" from (select from headgate.lane_wakes limit $1) w"#,
        MOST_NOTES,
    )
    .fetch_one(pool)
    .await?;
    if !are_many {
        return Ok(0);
    }
    let mut transaction = pool.begin().await?;
    // The turn of a claim, in a statement of its own: beside one that takes away the note we leave, a lane would fall asleep over its work. Whoever
    // claims takes away all of them.
    let has_turn = sqlx::query_scalar!(r#"select pg_try_advisory_xact_lock(4711, 1) as "has_turn!""#)
        .fetch_one(&mut *transaction)
        .await?;
    if !has_turn {
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
