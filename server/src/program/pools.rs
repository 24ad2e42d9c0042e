//! The connections of a process: some for the engine, some for requests that decide and write, some for pages. None holds the others up: a
//! burst of requests must not keep running jobs from being read and recorded.

use super::Database;
use crate::config::{DatabaseSettings, Secret};
use queue::{QueueError, pool::PoolSettings};
use sqlx::PgPool;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// What is read for jobs, and recorded of them: each short. Maintenance has some of its own.
const ENGINE_CONNECTIONS: u32 = 16;
/// Events, changes, sign-in: each short.
const API_CONNECTIONS: u32 = 12;
/// Pages and lists.
const CONSOLE_CONNECTIONS: u32 = 6;
/// A search that takes longer needs a narrower filter.
const CONSOLE_STATEMENT_TIMEOUT: Duration = Duration::from_secs(5);
/// A dead server answers no farewell.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// What `serve` connects with.
#[derive(Clone)]
pub(crate) struct Pools {
    /// Runs jobs and keeps the deployment in order.
    pub(crate) engine: PgPool,
    /// Decides and writes for requests.
    pub(crate) api: PgPool,
    /// Lists and searches; a replica may answer.
    pub(crate) console: PgPool,
    /// Asks whether the database answers: many requests at once must not look like a database that is away.
    pub(crate) health: PgPool,
}

impl Pools {
    /// # Errors
    /// When nobody answers.
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

    /// Closes all, or leaves them to their end at a moment.
    pub(crate) async fn close(&self, by: Instant) {
        let all = async {
            tokio::join!(self.health.close(), self.console.close(), self.api.close(), self.engine.close())
        };
        close_by(by, all).await;
    }
}

/// One pool without a limit on statements.
///
/// # Errors
/// When nobody answers.
pub(crate) async fn connect(url: &Secret, name: &str, most: u32) -> Result<PgPool, QueueError> {
    queue::pool::connect(&PoolSettings {
        url: url.expose().to_owned(),
        max_connections: most,
        application_name: name.to_owned(),
        statement_timeout: None,
    })
    .await
}

/// Closes a pool, and does not wait for a server that is gone.
pub(crate) async fn close(pool: &PgPool) {
    close_by(Instant::now() + CLOSE_TIMEOUT, pool.close()).await;
}

/// The same until a moment.
pub(crate) async fn close_by<T>(by: Instant, closing: impl Future<Output = T>) {
    if timeout_at(by, closing).await.is_err() {
        tracing::warn!("connections to the database did not close in time");
    }
}
