//! Whether the schema is the one that this program knows.

use crate::error::Result;
use crate::migrate::{MIGRATOR, OWN_TABLE, migrations_table};
use sqlx::{PgConnection, PgPool};

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

/// The newest migration that is applied, none in a database without the schema, and the newest that this program knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrations {
    pub applied: Option<i64>,
    pub known: i64,
}

impl Migrations {
    #[must_use]
    pub fn schema(self) -> Schema {
        match self.applied.cmp(&Some(self.known)) {
            std::cmp::Ordering::Less => Schema::Behind,
            std::cmp::Ordering::Equal => Schema::Current,
            std::cmp::Ordering::Greater => Schema::Ahead,
        }
    }
}

/// Compares the database's schema with this program's migrations.
pub async fn schema(pool: &PgPool) -> Result<Schema> {
    let mut connection = pool.acquire().await?;
    Ok(migrations(&mut connection).await?.schema())
}

/// Reads the list of applied migrations.
pub async fn migrations(connection: &mut PgConnection) -> Result<Migrations> {
    let known = MIGRATOR.iter().map(|migration| migration.version).max().unwrap_or(0);
    let sql = match migrations_table(connection).await? {
        None => return Ok(Migrations { applied: None, known }),
        Some(OWN_TABLE) => "select max(version) from headgate._sqlx_migrations where success",
        Some(_) => "select max(version) from public._sqlx_migrations where success",
    };
    let applied: Option<i64> = sqlx::query_scalar(sql).fetch_one(connection).await?;
    Ok(Migrations { applied, known })
}

/// A database as people know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its name.
    pub database: String,
    /// Whether there are tables outside our schema.
    pub has_other_tables: bool,
}

/// Reads where the schema is, or is about to be.
pub async fn place(connection: &mut PgConnection) -> Result<Place> {
    let (database, has_other_tables): (String, bool) = sqlx::query_as(
        r"
        select current_database()::text, exists (
            select from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where c.relkind in ('r', 'p') and n.nspname not in ('headgate', 'information_schema') and n.nspname not like 'pg\_%'
        )
        ",
    )
    .fetch_one(connection)
    .await?;
    Ok(Place { database, has_other_tables })
}
