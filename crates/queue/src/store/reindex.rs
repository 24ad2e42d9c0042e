//! Rebuilds indexes of the hot tables that are far larger than their rows need. Vacuum frees whole pages only; an index of a queue that was long once,
//! and whose remaining entries are spread thin, keeps its pages for ever (seen in the wild: 130 MB for 136 kB of rows), and each claim reads them.

use super::vacuum::HOT_TABLES;
use crate::error::Result;
use sqlx::{AssertSqlSafe, PgConnection};

/// An index with more bytes per row is bloated: far more than any of ours needs, page overhead included.
const BYTES_PER_ROW: i64 = 800;

/// An index to rebuild, or the leftover of an attempt at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its name in the schema `headgate`.
    pub name: String,
    pub bytes: i64,
    /// An interrupted attempt left it behind: nothing reads it, and every write maintains it.
    pub is_leftover: bool,
}

/// Bloated indexes of at least so many bytes, and leftovers of any size whose rebuild is not under way.
pub async fn bloated(conn: &mut PgConnection, at_least: i64) -> Result<Vec<Index>> {
    let tables = HOT_TABLES.map(str::to_owned);
    let indexes = sqlx::query_as!(
        Index,
        r#"
        select name as "name!", bytes as "bytes!", is_leftover as "is_leftover!"
        from (
            select x.relname::text as name, pg_relation_size(x.oid) as bytes,
                not i.indisvalid and x.relname ~ '_cc(new|old)[0-9]*$' as is_leftover, coalesce(s.n_live_tup, 0) as live,
                -- A crash or a failover loses the row counts: they are 0 until the table is vacuumed or analyzed again.
                greatest(s.last_vacuum, s.last_autovacuum, s.last_analyze, s.last_autoanalyze) is not null
                    and s.n_live_tup >= t.reltuples / 2 as is_known
            from pg_index i
            join pg_class x on x.oid = i.indexrelid
            join pg_class t on t.oid = i.indrelid
            left join pg_stat_user_tables s on s.relid = t.oid
            where t.relnamespace = 'headgate'::regnamespace and t.relname = any ($1) and pg_has_role(current_user, t.relowner, 'usage')
                and not exists (select 1 from pg_stat_progress_create_index p where p.relid = t.oid)
        ) found
        where is_leftover or (is_known and bytes >= $2 and bytes > live * $3)
        order by is_leftover desc, bytes desc
        "#,
        &tables as &[String],
        at_least,
        BYTES_PER_ROW,
    )
    .fetch_all(conn)
    .await?;
    Ok(indexes)
}

/// Rebuilds an index concurrently, or drops a leftover; claims and writes go on meanwhile. Not inside a transaction.
///
/// # Errors
/// [`crate::QueueError::Database`] when a lock is not granted in time (old transactions are waited for): the next run drops the leftover and tries again.
pub async fn rebuild(conn: &mut PgConnection, index: &Index) -> Result<()> {
    // The name was read from the catalogue.
    let name = index.name.replace('"', "\"\"");
    let sql = if index.is_leftover {
        format!("drop index concurrently if exists headgate.\"{name}\"")
    } else {
        format!("reindex index concurrently headgate.\"{name}\"")
    };
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(conn).await?;
    Ok(())
}
