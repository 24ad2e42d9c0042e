//! Proves the counters by counting the rows, which nothing else does.
//!
//! One integration at a time, counters and rows in one statement. Every transaction that moves a job appends its deltas itself, so in any
//! one snapshot the two are equal, whatever else is under way: a difference is a fault, never a race. It is also the same in every
//! snapshot until it is corrected, because every change moves both sides alike. So the statement that finds a difference can append it as one more
//! delta, whenever it commits. But two statements must not correct the same difference, each in its own snapshot: an earlier statement of the same
//! transaction takes an advisory lock.

use crate::error::{QueueError, Result};
use crate::store::leader::{self, Term};
use model::id::IntegrationId;
use sqlx::{PgConnection, PgPool};
use std::time::Duration;

/// A counter that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    pub integration_id: IntegrationId,
    /// 0 pending, 1 processing, 2 to be retried, 5 dead letters.
    pub status: i16,
    /// Attempts made by jobs to be retried; 0 for the others.
    pub attempt: i16,
    /// The counter with its unfolded deltas.
    pub counted: i64,
    /// The number of rows.
    pub real: i64,
}

/// Every counter that is wrong, by one statement over all jobs: for tests and small databases.
pub async fn drift(pool: &PgPool) -> Result<Vec<Drift>> {
    let mut connection = pool.acquire().await?;
    compare(&mut connection, None, false).await
}

/// The result of proving an integration's counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// They are right.
    Holds,
    /// They were wrong, and were corrected.
    Repaired(Vec<Drift>),
    /// Unknown: counting would keep a snapshot for too long, or another process was doing it.
    Open,
}

/// The next integration after this one that has a row, counters, jobs or dead letters: one index lookup each, no list of all.
pub async fn next_integration(
    connection: &mut PgConnection,
    after: IntegrationId,
) -> Result<Option<IntegrationId>> {
    let next = sqlx::query_scalar!(
        r#"
        select least(
            (select id from headgate.integrations where id > $1 order by id limit 1),
            (select integration_id from headgate.jobs where integration_id > $1 order by integration_id limit 1),
            (select integration_id from headgate.dead_letter_jobs where integration_id > $1 order by integration_id limit 1),
            (select integration_id from headgate.job_counts where integration_id > $1 order by integration_id limit 1),
            (select integration_id from headgate.job_count_deltas where integration_id > $1 order by integration_id limit 1)
        ) as "next: IntegrationId"
        "#,
        after as IntegrationId,
    )
    .fetch_one(connection)
    .await?;
    Ok(next)
}

/// Proves an integration's counters, and corrects them in the same statement. `timeout` bounds the statement, and so how long its
/// snapshot keeps dead rows from being vacuumed.
///
/// # Errors
/// `TermOver` when the term is over.
pub async fn prove_jobs(
    connection: &mut PgConnection,
    term: Term,
    integration_id: IntegrationId,
    timeout: Duration,
) -> Result<Proof> {
    let Some(mut transaction) = begin(connection, term, timeout).await? else { return Ok(Proof::Open) };
    let compared = compare(&mut transaction, Some(integration_id), true).await;
    Ok(match conclude(transaction, compared).await? {
        None => Proof::Open,
        Some(drifts) if drifts.is_empty() => Proof::Holds,
        Some(drifts) => Proof::Repaired(drifts),
    })
}

/// Commits what was found and corrected; none if it took too long.
pub(crate) async fn conclude<T>(
    transaction: sqlx::Transaction<'_, sqlx::Postgres>,
    compared: Result<T>,
) -> Result<Option<T>> {
    match compared {
        Ok(found) => {
            transaction.commit().await?;
            Ok(Some(found))
        }
        Err(QueueError::Timeout) => {
            transaction.rollback().await?;
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A transaction of the leader that has the advisory lock (4711, 4); none when another has it.
pub(crate) async fn begin<'c>(
    connection: &'c mut PgConnection,
    term: Term,
    timeout: Duration,
) -> Result<Option<sqlx::Transaction<'c, sqlx::Postgres>>> {
    use sqlx::Connection as _;
    // One core at most, and a plan for the parameters: for one integration by index, for all by reading everything.
    let settings = format!(
        "begin; set local statement_timeout = {}; set local max_parallel_workers_per_gather = 0; \
         set local plan_cache_mode = force_custom_plan",
        timeout.as_millis()
    );
    let mut transaction = connection.begin_with(sqlx::AssertSqlSafe(settings)).await?;
    let is_locked = sqlx::query_scalar!(r#"select pg_try_advisory_xact_lock(4711, 4) as "is_locked!""#)
        .fetch_one(&mut *transaction)
        .await?;
    if !is_locked {
        transaction.rollback().await?;
        return Ok(None);
    }
    leader::confirm(&mut transaction, term).await?;
    Ok(Some(transaction))
}

async fn compare(
    connection: &mut PgConnection,
    only: Option<IntegrationId>,
    is_to_repair: bool,
) -> Result<Vec<Drift>> {
    let drifts = sqlx::query_as!(
        Drift,
        r#"
        with counted as materialized (
            -- Jobs to be retried are counted by attempts, for the pyramid; of the others only the sum is used.
            select integration_id, status, case when status = 2 then attempt else 0 end as attempt, sum(n)::bigint as n
            from (
                select integration_id, status, attempt, n from headgate.job_counts
                where $1::uuid is null or integration_id = $1
                union all
                select integration_id, status, attempt, n from headgate.job_count_deltas
                where $1::uuid is null or integration_id = $1
            ) kept
            group by 1, 2, 3
        ), there as materialized (
            select integration_id, status, attempt, count(*) as n
            from (
                select integration_id, status, case when status = 2 then attempt else 0 end as attempt from headgate.jobs
                where $1::uuid is null or integration_id = $1
                union all
                -- A successor, which waits for a processing job to end, counts as a pending job of its own.
                select integration_id, 0::smallint, 0 from headgate.jobs
                where successor is not null and ($1::uuid is null or integration_id = $1)
                union all
                select integration_id, 5::smallint, 0 from headgate.dead_letter_jobs
                where $1::uuid is null or integration_id = $1
            ) seen
            group by 1, 2, 3
        ), differences as materialized (
            select integration_id, status, attempt::smallint as attempt, coalesce(c.n, 0) as counted, coalesce(t.n, 0) as real
            from counted c
            full join there t using (integration_id, status, attempt)
            where coalesce(c.n, 0) <> coalesce(t.n, 0)
        ), repaired as (
            insert into headgate.job_count_deltas (integration_id, status, attempt, n)
            select integration_id, status, attempt, (real - counted)::int from differences where $2
        )
        select integration_id as "integration_id!: IntegrationId", status as "status!", attempt as "attempt!",
            counted as "counted!", real as "real!"
        from differences
        order by 1, 2, 3
        "#,
        only as Option<IntegrationId>,
        is_to_repair,
    )
    .fetch_all(connection)
    .await?;
    Ok(drifts)
}
