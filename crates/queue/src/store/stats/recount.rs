//! Proves that the kept counters are the truth: counts what is there, which nothing else does.
//!
//! One integration at a time, counter and recount in one statement. Every transaction that moves a job appends its deltas itself, so in any
//! one snapshot the two are equal, whatever is under way beside it: a difference is a fault, never a race. And it is the same in every
//! snapshot until it is put right, because whatever happens moves both sides alike. So the difference can be appended as one more
//! delta by the very statement that found it, at whatever moment that commits. The one thing that must not happen is that two of
//! them put the same difference right, each in its own snapshot: they take turns on an advisory lock, taken by a statement before.

use crate::{
    error::QueueError,
    store::leader::{self, Term},
};
use model::id::{AppId, IntegrationId};
use sqlx::{PgConnection, PgPool};
use std::time::Duration;

/// A counter that does not say what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// Which integration.
    pub integration_id: IntegrationId,
    /// 0 pending, 1 processing, 2 to be retried, 5 dead letters.
    pub status: i16,
    /// Attempts made, of those to be retried; 0 for the others.
    pub attempt: i16,
    /// What the counter says, unfolded deltas included.
    pub counted: i64,
    /// What there is.
    pub real: i64,
}

/// Every counter that differs from what is there, read in one statement over all jobs: for tests and small databases.
///
/// # Errors
/// When the database cannot be asked.
pub async fn drift(pool: &PgPool) -> Result<Vec<Drift>, QueueError> {
    let mut connection = pool.acquire().await?;
    compare(&mut connection, None, false).await
}

/// What came of proving one integration's counters, or an app's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// They say what is there.
    Holds,
    /// They did not, and were put right.
    Repaired(Vec<Drift>),
    /// Nobody knows: counting takes longer than a snapshot may be held, or someone else was at it.
    Open,
}

/// The next integration after this one that has counters, jobs, dead letters or settings: a probe of an index each, no list of all.
///
/// # Errors
/// When the database cannot be asked.
pub async fn next_integration(
    connection: &mut PgConnection,
    after: IntegrationId,
) -> Result<Option<IntegrationId>, QueueError> {
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

/// The next app.
///
/// # Errors
/// When the database cannot be asked.
pub async fn next_app(connection: &mut PgConnection, after: AppId) -> Result<Option<AppId>, QueueError> {
    let next = sqlx::query_scalar!(
        r#"select id as "id: AppId" from headgate.apps where id > $1 order by id limit 1"#,
        after as AppId
    )
    .fetch_optional(connection)
    .await?;
    Ok(next)
}

/// Proves one integration's counters, and puts them right in the same statement. `patience` bounds it, and with it how long its
/// snapshot keeps dead rows from being vacuumed (RELIABILITY 0.6).
///
/// # Errors
/// `LeaseLost` when the term is over; when the database cannot be asked.
pub async fn prove_jobs(
    connection: &mut PgConnection,
    term: Term,
    integration_id: IntegrationId,
    patience: Duration,
) -> Result<Proof, QueueError> {
    let Some(mut transaction) = begin(connection, term, patience).await? else { return Ok(Proof::Open) };
    let compared = compare(&mut transaction, Some(integration_id), true).await;
    Ok(match concluded(transaction, compared).await? {
        None => Proof::Open,
        Some(drifts) if drifts.is_empty() => Proof::Holds,
        Some(drifts) => Proof::Repaired(drifts),
    })
}

/// The same for the numbers of an app's records; answers by how many they were wrong, none when nobody knows.
///
/// # Errors
/// `LeaseLost` when the term is over; when the database cannot be asked.
pub async fn prove_records(
    connection: &mut PgConnection,
    term: Term,
    app_id: AppId,
    patience: Duration,
) -> Result<Option<i64>, QueueError> {
    let Some(mut transaction) = begin(connection, term, patience).await? else { return Ok(None) };
    let compared = sqlx::query_scalar!(
        r#"
        with differences as materialized (
            select record_type, sum(n)::bigint as n
            from (
                select record_type, 1 as n from headgate.records where app_id = $1 and deleted_at is null
                union all
                select record_type, -n from headgate.record_counts where app_id = $1
                union all
                select record_type, -n from headgate.record_count_deltas where app_id = $1
            ) seen
            group by record_type
            having sum(n) <> 0
        ), repaired as (
            insert into headgate.record_count_deltas (app_id, record_type, n)
            select $1, record_type, n::int from differences
        )
        select coalesce(sum(abs(n)), 0)::bigint as "off_by!" from differences
        "#,
        app_id as AppId,
    )
    .fetch_one(&mut *transaction)
    .await
    .map_err(QueueError::from);
    concluded(transaction, compared).await
}

/// The same for the numbers of records an integration has in their current version.
///
/// # Errors
/// `LeaseLost` when the term is over; when the database cannot be asked.
pub async fn prove_in_sync(
    connection: &mut PgConnection,
    term: Term,
    integration_id: IntegrationId,
    patience: Duration,
) -> Result<Option<i64>, QueueError> {
    let Some(mut transaction) = begin(connection, term, patience).await? else { return Ok(None) };
    let compared = sqlx::query_scalar!(
        r#"
        with differences as materialized (
            select record_type, sum(n)::bigint as n
            from (
                select s.record_type, 1 as n
                from headgate.integrations i
                join headgate.sent_records s on s.integration_id = i.id
                join headgate.records r
                    on r.app_id = i.app_id and r.record_type = s.record_type and r.record_id = s.record_id and r.version = s.version
                where i.id = $1 and r.deleted_at is null and i.integration_type <> 'external'
                union all
                select record_type, -n from headgate.in_sync_counts where integration_id = $1
                union all
                select record_type, -n from headgate.in_sync_count_deltas where integration_id = $1
            ) seen
            group by record_type
            having sum(n) <> 0
        ), repaired as (
            insert into headgate.in_sync_count_deltas (integration_id, record_type, n)
            select $1, record_type, n::int from differences
        )
        select coalesce(sum(abs(n)), 0)::bigint as "off_by!" from differences
        "#,
        integration_id as IntegrationId,
    )
    .fetch_one(&mut *transaction)
    .await
    .map_err(QueueError::from);
    concluded(transaction, compared).await
}

/// Keeps what was found and put right; a proof that took too long is none.
pub(super) async fn concluded<T>(
    transaction: sqlx::Transaction<'_, sqlx::Postgres>,
    compared: Result<T, QueueError>,
) -> Result<Option<T>, QueueError> {
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

/// A transaction that has the turn (advisory lock 4711, 4) and the lead; none when somebody else has the turn.
pub(super) async fn begin<'c>(
    connection: &'c mut PgConnection,
    term: Term,
    patience: Duration,
) -> Result<Option<sqlx::Transaction<'c, sqlx::Postgres>>, QueueError> {
    use sqlx::Connection as _;
    // One core for it at most, and a plan for what is asked: of one integration by its index, of all by reading everything.
    let settings = format!(
        "begin; set local statement_timeout = {}; set local max_parallel_workers_per_gather = 0; \
         set local plan_cache_mode = force_custom_plan",
        patience.as_millis()
    );
    let mut transaction = connection.begin_with(sqlx::AssertSqlSafe(settings)).await?;
    let has_turn = sqlx::query_scalar!(r#"select pg_try_advisory_xact_lock(4711, 4) as "has_turn!""#)
        .fetch_one(&mut *transaction)
        .await?;
    if !has_turn {
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
) -> Result<Vec<Drift>, QueueError> {
    let drifts = sqlx::query_as!(
        Drift,
        r#"
        with counted as materialized (
            -- The pyramid is by attempts; of the others only the sum is shown.
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
                -- The change that waits behind a processing job is a pending job of its own.
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
