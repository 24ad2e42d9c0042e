//! `headgate worker`: runs jobs against a database that `serve` or `migrate` has prepared.

use crate::config::{ConfigError, DatabaseSettings, EngineSettings, Sources, TelemetrySettings};
use crate::program::{Database, Engine, Mode, block_on, close_by, connect, delivery, master_key};
use crate::{shutdown, telemetry};
use std::{process::ExitCode, time::Duration};
use tokio_util::sync::CancellationToken;

const CONNECTIONS: u32 = 20;
/// Time after the grace for the last steps of a shutdown; if it takes longer, something is stuck.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// # Errors
/// A bad setting.
pub fn run(sources: &Sources) -> anyhow::Result<ExitCode> {
    telemetry::start(&TelemetrySettings::read(sources)?);
    let database = DatabaseSettings::read(sources)?;
    let settings = EngineSettings::read(sources)?;
    if settings.workers.workers == 0 {
        let words = "HEADGATE_WORKERS=0: a worker without workers has nothing to do";
        return Err(ConfigError::Contradiction(words.into()).into());
    }
    block_on(async {
        let stop = CancellationToken::new();
        shutdown::watch(stop.clone(), settings.workers.shutdown_grace + SHUTDOWN_TIMEOUT)?;
        let Some(database) = Database::open_unless(&stop, &database, Mode::Join).await? else {
            return Ok(ExitCode::SUCCESS);
        };
        let result = work(&database, &settings, stop).await;
        database.close().await;
        result.map(|()| ExitCode::SUCCESS)
    })
}

async fn work(database: &Database, settings: &EngineSettings, stop: CancellationToken) -> anyhow::Result<()> {
    let key = master_key(settings.delivery.master_key.as_ref(), database.data_dir.as_deref())?;
    let pool = connect(&database.url, "headgate worker", CONNECTIONS).await?;
    if database.data_dir.is_none() {
        queue::store::connections::refuse_transaction_pooler(&pool).await?;
    }
    // Any process may be the first to start after an upgrade.
    queue::migrate::run(&pool).await?;
    queue::store::partitions::make_ahead(&pool).await?;
    let delivery = delivery(&pool, settings, key).await?;
    let engine = Engine::start(&pool, settings, &delivery, &stop);
    tracing::info!(workers = settings.workers.workers, "working");
    stop.cancelled().await;
    let ends_at = engine.shutdown_deadline();
    engine.shutdown(ends_at).await;
    close_by(ends_at, pool.close()).await;
    tracing::info!("stopped");
    Ok(())
}
