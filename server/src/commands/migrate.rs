//! `headgate migrate`: brings the schema up to date and exits.

use crate::config::{DatabaseSettings, Sources, TelemetrySettings};
use crate::program::{block_on, with_pool};
use crate::telemetry;
use queue::store::schema::{self, Migrations, Place};
use sqlx::PgPool;
use std::process::ExitCode;

/// # Errors
/// A migration that fails.
pub fn run(sources: &Sources) -> anyhow::Result<ExitCode> {
    telemetry::start(&TelemetrySettings::read(sources)?);
    let settings = DatabaseSettings::read(sources)?;
    block_on(with_pool(&settings, "headgate migrate", 2, async |pool| {
        migrate(pool).await?;
        Ok(ExitCode::SUCCESS)
    }))
}

async fn migrate(pool: &PgPool) -> anyhow::Result<()> {
    let mut connection = pool.acquire().await?;
    let Migrations { applied, known } = schema::migrations(&mut connection).await?;
    let Place { database, has_other_tables } = schema::place(&mut connection).await?;
    drop(connection);
    if applied.is_none() && has_other_tables {
        tracing::warn!(
            "the database {database} has tables of other programs: they stay as they are, Headgate's go to the schema headgate"
        );
    }
    queue::migrate::run(pool).await?;
    match applied {
        None => tracing::info!(
            "installed Headgate in the schema headgate of the database {database}, at migration {known}"
        ),
        Some(applied) if applied < known => {
            tracing::info!("the database {database} went from migration {applied} to {known}");
        }
        Some(applied) if applied > known => tracing::warn!(
            "the database {database} is at migration {applied}, newer than this program's {known}: nothing to apply; a newer Headgate migrated it, \
             and this one runs on it too during an upgrade"
        ),
        Some(_) => tracing::info!("the database {database} is up to date, at migration {known}"),
    }
    Ok(())
}
