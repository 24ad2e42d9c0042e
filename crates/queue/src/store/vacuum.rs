//! The leader vacuums the hot tables itself: with default autovacuum the drain rate halves within 20 seconds and keeps falling. On a connection of its
//! own, because a vacuum cannot run inside a transaction and may take longer than the statement timeout.

use crate::error::Result;
use sqlx::{AssertSqlSafe, PgConnection};

/// Every table that gains dead rows with each job or each second.
///
/// The small ones too: reads prune a page as long as no indexed column changed, but each claim walks past the dead entries of an
/// index, and past all dead rows of `lane_wakes`, which has none. Left to autovacuum: `leader`, `workers`, `totals`, `recounts` and `tidied`
/// (one row each, or one per process); `records` and `sent_records` (a pass over their indexes is expensive; their storage parameters let autovacuum
/// start earlier).
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

/// Whether a hot table needs a vacuum or an analyze.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bloat {
    /// Its name in the schema `headgate`.
    pub table: String,
    /// More dead rows than the threshold, which grows with the table.
    pub is_due: bool,
    /// Its statistics are outdated: half of it has changed since, and they are older than a minute. Plans made with them may be a thousand
    /// times slower.
    pub is_stale: bool,
    /// Whether we may vacuum it.
    pub is_ours: bool,
}

/// The state of each hot table.
pub async fn bloat(conn: &mut PgConnection) -> Result<Vec<Bloat>> {
    let tables = HOT_TABLES.map(str::to_owned);
    // A thousand dead rows are a few pages; a pass over a big table pays off from a twentieth of it on. Of `jobs` it is a fifth: each pass reads
    // its nine indexes, and no query walks past its dead rows, because jobs are found by id. A row of `live_snapshots` with thousands of integrations
    // is hundreds of TOAST pages.
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

/// Vacuums one table: skips it when someone has locked it, does not truncate it (that takes a lock that every claim would wait for),
/// and uses one core.
pub async fn vacuum(conn: &mut PgConnection, bloat: &Bloat) -> Result<()> {
    // The name comes from HOT_TABLES.
    sqlx::query(AssertSqlSafe(format!(
        "vacuum (skip_locked, truncate off, parallel 0) headgate.{}",
        bloat.table
    )))
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes new statistics of one table, or skips it when someone has locked it.
pub async fn analyze(conn: &mut PgConnection, bloat: &Bloat) -> Result<()> {
    // The name comes from HOT_TABLES.
    sqlx::query(AssertSqlSafe(format!("analyze (skip_locked) headgate.{}", bloat.table)))
        .execute(conn)
        .await?;
    Ok(())
}
