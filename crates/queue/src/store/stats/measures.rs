//! What an operator at three in the morning needs and browsers do not: sums since the beginning, the state of the database and of the
//! maintenance. Taken by the sampler every few seconds and kept in its snapshot's row, so that a scrape costs the database nothing.
//! Nothing here counts jobs: counters, the statistics Postgres keeps anyway, and the catalogue.

use super::recounts::{self, LastRecount};
use crate::{error::QueueError, store::vacuum};
use model::{histogram::Histogram, stats::Warning, text::sanitise};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use std::collections::BTreeMap;

/// A transaction older than this keeps dead rows from being removed long enough to be felt (RELIABILITY 0.6).
const OLD_TRANSACTION_SECONDS: f64 = 60.0;
/// Fewer days made ahead than this, and nobody has made any for most of a week.
const FEW_DAYS_AHEAD: i32 = 2;

/// What the sampler measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Measures {
    /// What was done since the beginning.
    pub sums: Sums,
    /// The leader's term: it rises by one with each take-over.
    pub term: i64,
    /// The leader's services.
    pub services: Vec<ServiceState>,
    /// The queue's own tables.
    pub tables: Vec<HotTable>,
    /// The oldest transaction that keeps dead rows from being removed.
    pub oldest_transaction: Option<OldTransaction>,
    /// How many transactions the oldest snapshot lies back, replication slots and prepared transactions included.
    pub horizon_transactions: i64,
    /// Size of the database.
    pub database_bytes: i64,
    /// Days after today whose partitions are made.
    pub partition_days_ahead: i32,
    /// The proof of the counters.
    pub recount: LastRecount,
    /// Rows taken away because they belonged to nothing, ever, by table.
    pub tidied: BTreeMap<String, i64>,
}

/// Sums since the beginning, over all processes and restarts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sums {
    /// Jobs that completed by sending, or by a handler of their own.
    pub completed: i64,
    /// Jobs that completed without a request.
    pub unchanged: i64,
    /// Failed attempts that were tried again.
    pub retried: i64,
    /// Jobs given up.
    pub dead: i64,
    /// Jobs called off.
    pub cancelled: i64,
    /// Attempts given back uncounted: limits, shutdowns.
    pub limited: i64,
    /// How long attempts took.
    pub latency: Histogram,
    /// All of them together, in microseconds.
    pub latency_us: i64,
    /// How long jobs waited before their first attempt.
    pub wait: Histogram,
    /// All of them together, in microseconds.
    pub wait_us: i64,
}

/// One maintenance service as the leader sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceState {
    /// Its name.
    pub name: String,
    /// Runs that went well, since this process leads or did before.
    pub runs: u64,
    /// Runs that did not.
    pub failures: u64,
    /// Failures since the last run that went well.
    pub failures_in_a_row: u32,
    /// Rows it could not move and passed over.
    pub passed_over: u64,
    /// How long ago the last run went well.
    pub seconds_since_success: Option<f64>,
    /// How long the last run took.
    pub took_seconds: f64,
    /// Whether it does its work, apart from passing troubles.
    pub is_healthy: bool,
}

/// One of the queue's tables, as Postgres' statistics have it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HotTable {
    /// Its name in the schema `headgate`.
    pub name: String,
    /// Rows.
    pub live_rows: i64,
    /// Versions of rows that nobody needs any more.
    pub dead_rows: i64,
    /// With its indexes.
    pub bytes: i64,
    /// Since the last vacuum, ours or Postgres' own; none before the first.
    pub seconds_since_vacuum: Option<f64>,
    /// Whether our database user may vacuum it.
    pub is_ours: bool,
}

/// A transaction that is open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OldTransaction {
    /// For how long.
    pub age_seconds: f64,
    /// Whose: the application's name.
    pub application: String,
    /// The server process; none of a prepared transaction.
    pub pid: Option<i32>,
}

/// What was measured last, for what need not be measured each time.
#[derive(Debug, Default)]
pub struct LastSeen {
    database: Option<(std::time::Instant, i64)>,
}

/// The size of a database is the sum of all its files: looked at once a minute.
const SIZE_EVERY: std::time::Duration = std::time::Duration::from_secs(60);

/// Measures everything but the services, which the leader knows.
///
/// # Errors
/// When the database cannot be asked.
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
        select completed, unchanged, retried, dead, cancelled, limited, latency, latency_us, wait, wait_us
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

/// Of this database: what other databases' transactions see keeps none of our rows. A vacuum's own snapshot keeps none either, and an index that is
/// made anew is our own doing.
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

impl Measures {
    /// What an operator should look at, worst first.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut warn = |code: &str, message| warnings.push(Warning { code: code.to_owned(), message });
        if self.partition_days_ahead < FEW_DAYS_AHEAD {
            warn(
                "partitions_missing",
                format!(
                    "Day partitions are made for only {} days ahead; without today's nothing can be recorded. The log of the service partitions says why.",
                    self.partition_days_ahead
                ),
            );
        }
        let failing: Vec<&str> = self
            .services
            .iter()
            .filter(|service| !service.is_healthy)
            .map(|service| service.name.as_str())
            .collect();
        if !failing.is_empty() {
            warn(
                "service_failing",
                format!("Maintenance fails again and again: {}. The log says why.", failing.join(", ")),
            );
        }
        if let Some(open) =
            self.oldest_transaction.as_ref().filter(|open| open.age_seconds >= OLD_TRANSACTION_SECONDS)
        {
            let whose = if open.application.is_empty() { "an unnamed program" } else { &open.application };
            let remedy = open.pid.map_or_else(
                || "Commit it or roll it back.".to_owned(),
                |pid| format!("End it, or run select pg_terminate_backend({pid})."),
            );
            warn(
                "old_transaction",
                format!(
                    "A transaction of {whose} has been open for {} s: no dead row can be removed meanwhile, and the queue slows down. {remedy}",
                    open.age_seconds.round()
                ),
            );
        }
        if self.recount.drift != 0 {
            warn(
                "counts_drift",
                format!(
                    "The last recount found counters wrong by {} jobs and put them right. That is a fault of Headgate: please report it with the log.",
                    self.recount.drift
                ),
            );
        }
        if self.tables.iter().any(|table| !table.is_ours) {
            warn(
                "not_owner",
                "The database user does not own the queue's tables and cannot vacuum them: under load the queue slows down. Make it their owner."
                    .to_owned(),
            );
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said_and_nothing_else() {
        let well = Measures {
            partition_days_ahead: 7,
            oldest_transaction: Some(OldTransaction { age_seconds: 59.0, ..OldTransaction::default() }),
            tables: vec![HotTable { is_ours: true, ..HotTable::default() }],
            services: vec![ServiceState { is_healthy: true, ..ServiceState::default() }],
            ..Measures::default()
        };
        assert_eq!(well.warnings(), []);
        let codes = |measures: &Measures| {
            measures.warnings().into_iter().map(|warning| warning.code).collect::<Vec<_>>()
        };
        let old = OldTransaction { age_seconds: 420.4, application: "psql".into(), pid: Some(7) };
        let open = Measures { oldest_transaction: Some(old), ..well };
        assert_eq!(codes(&open), ["old_transaction"]);
        let message = &open.warnings()[0].message;
        assert!(
            message.contains("psql has been open for 420 s") && message.contains("pg_terminate_backend(7)"),
            "{message}"
        );
        let all = Measures {
            partition_days_ahead: 1,
            services: vec![ServiceState { name: "sample".into(), ..ServiceState::default() }],
            tables: vec![HotTable::default()],
            recount: LastRecount { drift: 3, ..LastRecount::default() },
            ..open
        };
        assert_eq!(
            codes(&all),
            ["partitions_missing", "service_failing", "old_transaction", "counts_drift", "not_owner"]
        );
    }

    #[test]
    fn measures_of_another_version_are_read_as_far_as_they_go() {
        let read: Measures = serde_json::from_str(r#"{"term": 3, "of_tomorrow": [1]}"#).expect("readable");
        assert_eq!(read, Measures { term: 3, ..Measures::default() });
    }
}
