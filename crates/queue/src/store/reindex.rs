//! Indexes of the hot tables that have grown far beyond what they hold. Vacuum frees whole pages alone; a queue that was long once and
//! whose leftovers are spread thin keeps its pages for ever (a case in the wild: 130 MB for 136 kB of rows), and each claim reads them.

use super::vacuum::HOT_TABLES;
use crate::error::QueueError;
use sqlx::{AssertSqlSafe, PgConnection};

/// What an entry may take up, with everything around it, before it counts as waste: far more than any of ours needs.
const BYTES_PER_ROW: i64 = 800;

/// An index that is to be made anew, or what is left of an attempt at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its name in the schema `headgate`.
    pub name: String,
    /// Its size.
    pub bytes: i64,
    /// An attempt that was broken off left it behind: nothing reads it, and every write keeps it.
    pub is_leftover: bool,
}

/// Those of at least so many bytes that waste most of them, and leftovers of any size that nobody is working on.
///
/// # Errors
/// When the database cannot be asked.
pub async fn bloated(conn: &mut PgConnection, at_least: i64) -> Result<Vec<Index>, QueueError> {
    let tables = HOT_TABLES.map(str::to_owned);
    let indexes = sqlx::query_as!(
        Index,
        r#"
        select name as "name!", bytes as "bytes!", is_leftover as "is_leftover!"
        from (
            select x.relname::text as name, pg_relation_size(x.oid) as bytes,
                not i.indisvalid and x.relname ~ '_cc(new|old)[0-9]*$' as is_leftover, coalesce(s.n_live_tup, 0) as live,
                -- The numbers of rows are forgotten in a crash or a failover, and are nought until the table was looked at again.
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

/// Makes one anew beside the old one, or takes a leftover away; claims and writes go on meanwhile. Not inside a transaction.
///
/// # Errors
/// When a lock is not given in time (an old transaction is waited for): the next run takes the leftover away and tries again.
pub async fn remake(conn: &mut PgConnection, index: &Index) -> Result<(), QueueError> {
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
