//! The connection pools of a process: for the engine, for requests that decide and write, and for lists. They are separate, so that a burst of
//! requests does not delay jobs.

use super::{Database, Mode};
use crate::config::{DatabaseSettings, Secret};
use queue::{QueueError, pool::PoolSettings};
use sqlx::PgPool;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Short statements that read jobs and record results. Maintenance has additional connections.
const ENGINE_CONNECTIONS: u32 = 16;
/// Events, changes, sign-in, each short.
const API_CONNECTIONS: u32 = 12;
/// Pages and lists.
const CONSOLE_CONNECTIONS: u32 = 6;
/// A search that takes longer needs a narrower filter.
const CONSOLE_STATEMENT_TIMEOUT: Duration = Duration::from_secs(5);
/// A server that is gone does not confirm the end of a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The pools of `serve`.
#[derive(Clone)]
pub struct Pools {
    /// For jobs and maintenance.
    pub engine: PgPool,
    /// For requests that decide and write.
    pub api: PgPool,
    /// For lists and searches; may be a replica's.
    pub console: PgPool,
    /// For the health check, so that many requests at once do not look like a database that is away.
    pub health: PgPool,
}

impl Pools {
    pub(crate) async fn open(database: &Database, settings: &DatabaseSettings) -> Result<Self, QueueError> {
        let engine = connect(&database.url, "headgate", ENGINE_CONNECTIONS).await?;
        let api = connect(&database.url, "headgate api", API_CONNECTIONS).await?;
        let console = queue::pool::connect_lazy(&PoolSettings {
            url: settings.read_url.as_ref().unwrap_or(&database.url).expose().to_owned(),
            max_connections: CONSOLE_CONNECTIONS,
            application_name: "headgate console".to_owned(),
            statement_timeout: Some(CONSOLE_STATEMENT_TIMEOUT),
        })?;
        let health = queue::pool::connect_lazy(&PoolSettings {
            url: database.url.expose().to_owned(),
            max_connections: 1,
            application_name: "headgate health".to_owned(),
            statement_timeout: Some(CONSOLE_STATEMENT_TIMEOUT),
        })?;
        Ok(Self { engine, api, console, health })
    }

    /// Closes all pools, waiting until `by` at most.
    pub(crate) async fn close(&self, by: Instant) {
        let all = async {
            tokio::join!(self.health.close(), self.console.close(), self.api.close(), self.engine.close())
        };
        close_by(by, all).await;
    }
}

/// Opens a pool without a statement timeout.
pub(crate) async fn connect(url: &Secret, name: &str, max_connections: u32) -> Result<PgPool, QueueError> {
    queue::pool::connect(&PoolSettings {
        url: url.expose().to_owned(),
        max_connections,
        application_name: name.to_owned(),
        statement_timeout: None,
    })
    .await
}

/// Runs the work of a short command with connections to the database, and closes them whatever its result.
pub(crate) async fn with_pool<T>(
    settings: &DatabaseSettings,
    name: &str,
    max_connections: u32,
    work: impl AsyncFnOnce(&PgPool) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let database = Database::open(settings, Mode::Either).await?;
    let work = async {
        let pool = connect(&database.url, name, max_connections).await?;
        let result = work(&pool).await;
        close_by(Instant::now() + CLOSE_TIMEOUT, pool.close()).await;
        result
    };
    let result = work.await;
    database.close().await;
    result
}

/// Closes connections, waiting until `by` at most.
pub(crate) async fn close_by<T>(by: Instant, closing: impl Future<Output = T>) {
    if timeout_at(by, closing).await.is_err() {
        tracing::warn!("connections to the database did not close in time");
    }
}
