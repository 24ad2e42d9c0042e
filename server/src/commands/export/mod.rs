//! `headgate export`: dead letters, records or sent state to standard output, page by page.

mod rows;

use crate::commands::flags::{DatabaseConcerns, Flags};
use crate::config::{DatabaseSettings, TelemetrySettings};
use crate::export_format::{ExportFormat, Writer};
use crate::program::{app, block_on, delivery_without_key, with_pool};
use crate::telemetry;
use clap::Args;
use delivery::DeliveryConfig;
use model::{actor::Scope, id::IntegrationId};
use rows::{Selection, What};
use sqlx::PgPool;
use std::{io, path::PathBuf, process::ExitCode};

#[derive(Debug, Args)]
pub struct Export {
    /// What to export
    what: What,
    /// jsonl: every field; csv: for spreadsheets, with formulas made harmless
    #[arg(long, default_value = "jsonl")]
    format: ExportFormat,
    /// Only this app's (slug or id)
    #[arg(long)]
    app: Option<String>,
    /// Only this integration's (id); with records, those it is sent
    #[arg(long)]
    integration: Option<IntegrationId>,
    /// Only records of this type
    #[arg(long)]
    record_type: Option<String>,
    #[command(flatten)]
    settings: Flags<DatabaseConcerns>,
}

/// # Errors
/// A bad setting, or an app or integration that does not exist.
pub fn run(export: Export, config: Option<&PathBuf>) -> anyhow::Result<ExitCode> {
    let Export { what, format, app, integration, record_type, settings } = export;
    let sources = settings.sources(config)?;
    telemetry::start(&TelemetrySettings::read(&sources)?);
    let database = DatabaseSettings::read(&sources)?;
    let selection = |scope| Selection { what, scope, integration, record_type };
    let work = async |pool: &PgPool| write_all(pool, format, app.as_deref(), selection).await;
    match block_on(with_pool(&database, "headgate export", 2, work)) {
        // `headgate export … | head` has read all it needs.
        Err(error) if is_closed_pipe(&error) => Ok(ExitCode::SUCCESS),
        result => result.map(|()| ExitCode::SUCCESS),
    }
}

async fn write_all(
    pool: &PgPool,
    format: ExportFormat,
    app_name: Option<&str>,
    selection: impl FnOnce(Scope) -> Selection,
) -> anyhow::Result<()> {
    let delivery = delivery_without_key(pool, DeliveryConfig::default())?;
    let scope = match app_name {
        Some(name) => Scope::App(app(&delivery, name).await?.id),
        None => Scope::AllApps,
    };
    let mut writer = Writer::new(io::BufWriter::new(io::stdout()), format);
    rows::write(&delivery, &selection(scope), &mut writer).await?;
    writer.finish()?;
    Ok(())
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let is_pipe = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
        cause.downcast_ref::<io::Error>().is_some_and(is_pipe)
            || cause.downcast_ref::<csv::Error>().is_some_and(|error| match error.kind() {
                csv::ErrorKind::Io(error) => is_pipe(error),
                _ => false,
            })
    })
}
