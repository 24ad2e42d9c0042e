//! `headgate export`: dead letters, records or sent state to standard output, page by page.

mod rows;
mod write;

use crate::{
    cli::{DatabaseConcerns, Flags},
    commands::app_name::app,
    config::{DatabaseSettings, Secret, TelemetrySettings},
    program::{Database, Mode, block_on, close, connect},
    telemetry,
};
use clap::{Args, ValueEnum};
use delivery::{Delivery, DeliveryConfig, MasterKey, TargetGuard};
use model::{actor::Scope, id::IntegrationId};
use queue::Waker;
pub(crate) use rows::DEAD_LETTERS;
use std::{io, path::PathBuf, process::ExitCode};
pub(crate) use write::Writer;

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

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// Jobs that are not retried any more, with their failures
    DeadLetters,
    /// The catalog
    Records,
    /// What each integration last accepted
    Sent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One JSON object a line
    Jsonl,
    /// Comma-separated, the first line names the columns
    Csv,
}

struct Selection {
    what: What,
    scope: Scope,
    integration: Option<IntegrationId>,
    record_type: Option<String>,
}

/// # Errors
/// A bad setting, or an app or integration that does not exist.
pub fn run(export: Export, config: Option<&PathBuf>) -> anyhow::Result<ExitCode> {
    let Export { what, format, app, integration, record_type, settings } = export;
    let sources = settings.sources(config)?;
    telemetry::start(&TelemetrySettings::read(&sources)?);
    let database = DatabaseSettings::read(&sources)?;
    block_on(async move {
        let database = Database::open(&database, Mode::Either).await?;
        let selection = |scope| Selection { what, scope, integration, record_type };
        let result = write_all(&database.url, format, app.as_deref(), selection).await;
        database.close().await;
        match result {
            // `headgate export … | head` has read all it needs.
            Err(error) if is_closed_pipe(&error) => Ok(ExitCode::SUCCESS),
            result => result.map(|()| ExitCode::SUCCESS),
        }
    })
}

async fn write_all(
    url: &Secret,
    format: ExportFormat,
    app_name: Option<&str>,
    selection: impl FnOnce(Scope) -> Selection,
) -> anyhow::Result<()> {
    let pool = connect(url, "headgate export", 2).await?;
    // An export decrypts no secret and sends nothing, so any key will do.
    let guard = TargetGuard::new(Vec::new(), false);
    let waker = Waker::new(pool.clone());
    let delivery =
        Delivery::new(pool.clone(), MasterKey::generate(), guard, DeliveryConfig::default(), waker)?;
    let scope = match app_name {
        Some(name) => Scope::App(app(&delivery, name).await?.id),
        None => Scope::AllApps,
    };
    let mut writer = Writer::new(io::BufWriter::new(io::stdout()), format);
    let result = rows::write(&delivery, &selection(scope), &mut writer).await;
    close(&pool).await;
    result?;
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
