//! A database that dies under us is started again.

use super::EmbeddedPostgres;
use std::{convert::Infallible, time::Duration};
use tokio::time::{Instant, sleep};

/// Who lives this long was well; the next death starts the waits anew.
const STABLE_AFTER: Duration = Duration::from_secs(60);
const MAX_WAIT: Duration = Duration::from_secs(30);

impl EmbeddedPostgres {
    /// Waits for Postgres to die and starts it again, for ever: at once the first time, then with growing waits.
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
            tracing::error!("the embedded database ended ({status}); starting it again");
            loop {
                sleep(wait).await;
                wait = (wait * 2).clamp(Duration::from_secs(1), MAX_WAIT);
                match self.restart().await {
                    Ok(()) => break,
                    Err(error) => tracing::error!("{error}; trying again in {} s", wait.as_secs()),
                }
            }
            tracing::info!("the embedded database runs again");
        }
    }
}
