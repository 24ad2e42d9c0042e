//! Taking the measures: from Postgres' own statistics, the catalogue, and a few rows of sums.

use super::{HotTable, Measures, OldTransaction, Sums};
use model::{histogram::Histogram, text::sanitise};
use queue::error::QueueError;
use queue::store::counts::recounts;
use queue::store::vacuum;
use sqlx::PgPool;

/// The last values of what need not be measured each time.
#[derive(Debug, Default)]
pub struct LastSeen {
    database: Option<(std::time::Instant, i64)>,
}

/// Postgres sums the sizes of all files for the size of a database, so it is read once a minute only.
const SIZE_EVERY: std::time::Duration = std::time::Duration::from_secs(60);

/// Measures everything but the services, whose states the leader has in memory.
pub async fn measures(pool: &PgPool, seen: &mut LastSeen) -> Result<Measures, QueueError> {
    let sums = sums(pool).await?;
    let tables = tables(pool).await?;
    let row = sqlx::query!(
        r#"
        select (select coalesce(max(term), 0) from headgate.leader) as "term!",
            (
                select count(*)::int from generate_series(1, 31) ahead,
                    to_char((clock_timestamp() at time zone 'UTC')::date + ahead, 'YYYYMMDD') day
                where to_regclass('headgate.finished_jobs_' || day) is not null
                    and to_regclass('headgate.job_attempts_' || day) is not null
            ) as "days_ahead!",
            coalesce(greatest(
                (select max(age(backend_xmin)) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()),
                (select max(age(xmin)) from pg_replication_slots),
                (select max(age(transaction)) from pg_prepared_xacts where database = current_database())
            ), 0)::bigint as "horizon!"
        "#
    )
    .fetch_one(pool)
    .await?;
    let tidied = sqlx::query!("select what, n from headgate.tidied order by what").fetch_all(pool).await?;
    Ok(Measures {
        sums,
        term: row.term,
        services: Vec::new(),
        tables,
        oldest_transaction: oldest_transaction(pool).await?,
        horizon_transactions: row.horizon,
        database_bytes: database_bytes(pool, seen).await?,
        partition_days_ahead: row.days_ahead,
        recount: recounts::last(pool).await?,
        tidied: tidied.into_iter().map(|row| (row.what, row.n)).collect(),
    })
}

async fn sums(pool: &PgPool) -> Result<Sums, QueueError> {
    let row = sqlx::query!(
        r#"
        select completed, unchanged, retried, dead, cancelled, limited, lost, latency, latency_us, wait, wait_us
        from headgate.totals
        "#
    )
    .fetch_one(pool)
    .await?;
    Ok(Sums {
        completed: row.completed,
        unchanged: row.unchanged,
        retried: row.retried,
        dead: row.dead,
        cancelled: row.cancelled,
        limited: row.limited,
        lost: row.lost,
        latency: Histogram::from_counts(row.latency),
        latency_us: row.latency_us,
        wait: Histogram::from_counts(row.wait),
        wait_us: row.wait_us,
    })
}

async fn tables(pool: &PgPool) -> Result<Vec<HotTable>, QueueError> {
    let names = vacuum::HOT_TABLES.map(str::to_owned);
    let tables = sqlx::query_as!(
        HotTable,
        r#"
        select c.relname::text as "name!", coalesce(s.n_live_tup, 0) as "live_rows!", coalesce(s.n_dead_tup, 0) as "dead_rows!",
            coalesce(pg_total_relation_size(c.oid), 0) as "bytes!",
            extract(epoch from clock_timestamp() - greatest(s.last_vacuum, s.last_autovacuum))::float8 as seconds_since_vacuum,
            pg_has_role(current_user, c.relowner, 'usage') as "is_ours!"
        from pg_class c
        left join pg_stat_user_tables s on s.relid = c.oid
        where c.relnamespace = 'headgate'::regnamespace and c.relname = any ($1)
        order by array_position($1, c.relname::text)
        "#,
        &names as &[String],
    )
    .fetch_all(pool)
    .await?;
    Ok(tables)
}

/// The oldest of this database: transactions in other databases keep none of our dead rows. A vacuum's own snapshot keeps none either, and the rebuild of
/// an index is our own.
async fn oldest_transaction(pool: &PgPool) -> Result<Option<OldTransaction>, QueueError> {
    let oldest = sqlx::query!(
        r#"
        select age_seconds as "age_seconds!", application as "application!", pid
        from (
            select extract(epoch from clock_timestamp() - xact_start)::float8 as age_seconds, application_name as application, pid
            from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
                and xact_start is not null and (backend_xmin is not null or backend_xid is not null)
                and not (state = 'active' and query ~* '^\s*(vacuum|analyze|reindex index concurrently|drop index concurrently)')
            union all
            select extract(epoch from clock_timestamp() - prepared)::float8, 'prepared transaction ' || gid, null
            from pg_prepared_xacts
            where database = current_database()
        ) open
        order by age_seconds desc
        limit 1
        "#
    )
    .fetch_optional(pool)
    .await?;
    Ok(oldest.map(|row| OldTransaction {
        age_seconds: row.age_seconds.max(0.0),
        application: sanitise(&row.application, 100),
        pid: row.pid,
    }))
}

async fn database_bytes(pool: &PgPool, seen: &mut LastSeen) -> Result<i64, QueueError> {
    if let Some((at, bytes)) = seen.database
        && at.elapsed() < SIZE_EVERY
    {
        return Ok(bytes);
    }
    let bytes = sqlx::query_scalar!(r#"select pg_database_size(current_database()) as "bytes!""#)
        .fetch_one(pool)
        .await?;
    seen.database = Some((std::time::Instant::now(), bytes));
    Ok(bytes)
}
