//! `headgate migrate`: brings the schema up to date and exits.

use crate::{
    config::{DatabaseSettings, Sources, TelemetrySettings},
    program::{Database, Mode, block_on, close, connect},
    telemetry,
};
use std::process::ExitCode;

/// # Errors
/// A migration that fails.
pub fn run(sources: &Sources) -> anyhow::Result<ExitCode> {
    telemetry::start(&TelemetrySettings::read(sources)?);
    let settings = DatabaseSettings::read(sources)?;
    block_on(async {
        let database = Database::open(&settings, Mode::Either).await?;
        let result = migrate(&database).await;
        database.close().await;
        result.map(|()| ExitCode::SUCCESS)
    })
}

async fn migrate(database: &Database) -> anyhow::Result<()> {
    let pool = connect(&database.url, "headgate migrate", 2).await?;
    let result = queue::migrate::run(&pool).await;
    close(&pool).await;
    result?;
    tracing::info!("the database is up to date");
    Ok(())
}
