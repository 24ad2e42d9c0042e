//! Whether the schema is the one that this program knows.

use crate::error::Result;
use crate::migrate::{MIGRATOR, OWN_TABLE, migrations_table};
use sqlx::PgPool;

/// The database's schema compared with the migrations this program knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema {
    /// Migrations are missing.
    Behind,
    /// All migrations are applied.
    Current,
    /// A newer process of a rolling upgrade has migrated; this program runs on that schema too.
    Ahead,
}

/// Compares the database's schema with this program's migrations.
pub async fn schema(pool: &PgPool) -> Result<Schema> {
    let newest = MIGRATOR.iter().map(|migration| migration.version).max();
    let mut connection = pool.acquire().await?;
    let sql = match migrations_table(&mut connection).await? {
        None => return Ok(Schema::Behind),
        Some(OWN_TABLE) => "select max(version) from headgate._sqlx_migrations where success",
        Some(_) => "select max(version) from public._sqlx_migrations where success",
    };
    let applied: Option<i64> = sqlx::query_scalar(sql).fetch_one(&mut *connection).await?;
    Ok(match applied.cmp(&newest) {
        std::cmp::Ordering::Less => Schema::Behind,
        std::cmp::Ordering::Equal => Schema::Current,
        std::cmp::Ordering::Greater => Schema::Ahead,
    })
}
