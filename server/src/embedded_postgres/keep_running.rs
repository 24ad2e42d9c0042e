//! Restarts the database when it dies.

use super::EmbeddedPostgres;
use std::{convert::Infallible, time::Duration};
use tokio::time::{Instant, sleep};

/// After running this long, the waits before restarts begin at 0 again.
const STABLE_AFTER: Duration = Duration::from_secs(60);
const MAX_WAIT: Duration = Duration::from_secs(30);

impl EmbeddedPostgres {
    /// Restarts Postgres whenever it dies, without end: at once the first time, then after growing waits.
    ///
    /// Cancel it (in a `select!`) before [`stop`](Self::stop).
    pub async fn keep_running(&mut self) -> Infallible {
        let mut wait = Duration::ZERO;
        loop {
            let started = Instant::now();
            let status = self.postmaster.ended().await;
            if started.elapsed() > STABLE_AFTER {
                wait = Duration::ZERO;
            }
            tracing::error!("the embedded database ended ({status}); restarting it");
            loop {
                sleep(wait).await;
                wait = (wait * 2).clamp(Duration::from_secs(1), MAX_WAIT);
                match self.restart().await {
                    Ok(()) => break,
                    Err(error) => tracing::error!("{error}; trying again in {} s", wait.as_secs()),
                }
            }
            tracing::info!("the embedded database is running again");
        }
    }
}
