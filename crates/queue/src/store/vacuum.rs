//! Vacuuming the hot tables ourselves: with default autovacuum the drain rate halves within 20 seconds and goes on falling
//! (DESIGN 4). On a connection of its own, because a vacuum cannot run inside a transaction and may take longer than a statement may.

use crate::error::QueueError;
use sqlx::{AssertSqlSafe, PgConnection};

/// Every table that gains dead rows with each job or each second.
///
/// The small ones too: whoever reads a page cleans it as long as nothing but the row changed, but each claim walks past the dead entries of an
/// index, and past all dead notes of `lane_wakes`, which has none. Left to Postgres: `leader`, `workers`, `totals`, `recounts` and `tidied`
/// (a row each, or one per process); `records` and `sent_records` (their indexes make a pass dear; autovacuum comes earlier to them).
pub const HOT_TABLES: [&str; 25] = [
    "jobs",
    "ready",
    "waiting",
    "job_count_deltas",
    "throughput_deltas",
    "latency_deltas",
    "batch_deltas",
    "in_sync_counts",
    "in_sync_count_deltas",
    "claim_batches",
    "lanes",
    "lane_wakes",
    "rate_limits",
    "breakers",
    "integration_marks",
    "serialize_keys",
    "serialized_jobs",
    "job_counts",
    "throughput",
    "live_snapshots",
    "failing_jobs",
    "failure_deltas",
    "failure_counts",
    "failure_groups",
    "failure_trend",
];

/// A hot table and whether it is time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bloat {
    /// Its name in the schema `headgate`.
    pub table: String,
    /// More dead rows than the threshold, which grows with the table.
    pub is_due: bool,
    /// Whether its statistics are those of another time: half of it changed since, and a minute has passed. Plans made with them may be a
    /// thousand times slower (RELIABILITY 2.14).
    pub is_stale: bool,
    /// Whether we may vacuum it.
    pub is_ours: bool,
}

/// How each hot table stands.
///
/// # Errors
/// When the database cannot be asked.
pub async fn bloat(conn: &mut PgConnection) -> Result<Vec<Bloat>, QueueError> {
    let tables = HOT_TABLES.map(str::to_owned);
    // A thousand dead rows are a few pages; a twentieth of a big table is what one pass is worth. Of `jobs` it is a fifth: each pass reads
    // its nine indexes, and nobody walks past its dead rows, because jobs are found by id. A snapshot of thousands of integrations is
    // hundreds of pages beside the table.
    let bloats = sqlx::query_as!(
        Bloat,
        r#"
        select c.relname::text as "table!",
            coalesce(s.n_dead_tup, 0) > case c.relname when 'live_snapshots' then 60 else 1000 end
                + case c.relname when 'jobs' then 0.2 else 0.05 end * coalesce(s.n_live_tup, 0) as "is_due!",
            coalesce(s.n_mod_since_analyze, 0) > 5000 + 0.5 * coalesce(s.n_live_tup, 0)
                and coalesce(greatest(s.last_analyze, s.last_autoanalyze) < clock_timestamp() - interval '1 minute', true)
                as "is_stale!",
            pg_has_role(current_user, c.relowner, 'usage') as "is_ours!"
        from pg_class c
        left join pg_stat_user_tables s on s.relid = c.oid
        where c.relnamespace = 'headgate'::regnamespace and c.relname = any ($1)
        order by array_position($1, c.relname::text)
        "#,
        &tables as &[String],
    )
    .fetch_all(conn)
    .await?;
    Ok(bloats)
}

/// Vacuums one table: passes it over when someone holds a lock on it, leaves its length alone (truncating takes a lock that every
/// claim would wait for), and takes one core, not all.
///
/// # Errors
/// When the database cannot be asked.
pub async fn vacuum(conn: &mut PgConnection, bloat: &Bloat) -> Result<(), QueueError> {
    // The name comes from HOT_TABLES.
    sqlx::query(AssertSqlSafe(format!(
        "vacuum (skip_locked, truncate off, parallel 0) headgate.{}",
        bloat.table
    )))
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes new statistics of one table; a lock held by someone else is not waited for.
///
/// # Errors
/// When the database cannot be asked.
pub async fn analyze(conn: &mut PgConnection, bloat: &Bloat) -> Result<(), QueueError> {
    // The name comes from HOT_TABLES.
    sqlx::query(AssertSqlSafe(format!("analyze (skip_locked) headgate.{}", bloat.table)))
        .execute(conn)
        .await?;
    Ok(())
}
