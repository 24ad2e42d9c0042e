//! `headgate migrate`: brings the schema up to date and exits.

use crate::config::{DatabaseSettings, Sources, TelemetrySettings};
use crate::program::{block_on, with_pool};
use crate::telemetry;
use std::process::ExitCode;

/// # Errors
/// A migration that fails.
pub fn run(sources: &Sources) -> anyhow::Result<ExitCode> {
    telemetry::start(&TelemetrySettings::read(sources)?);
    let settings = DatabaseSettings::read(sources)?;
    block_on(with_pool(&settings, "headgate migrate", 2, async |pool| {
        queue::migrate::run(pool).await?;
        tracing::info!("the database is up to date");
        Ok(ExitCode::SUCCESS)
    }))
}
