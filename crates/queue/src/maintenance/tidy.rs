//! Removes rows that belong to no job, and queues jobs that a fault left out of the queue.

use super::Service;
use crate::error::Result;
use crate::store::leader::Term;
use crate::store::tidy::{self, Cursors, Tidied};
use async_trait::async_trait;
use sqlx::PgPool;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;

/// Between two scans.
const SCAN_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Between two portions of a scan: ten million entries take a few hours, without a noticeable load.
const PORTION_INTERVAL: Duration = Duration::from_secs(1);

/// Scans `ready`, `waiting` and the serialize keys for rows without a job, and the jobs for those that are in no queue; a serialize key
/// whose head is gone continues with the next job. There are none unless something went wrong, and then they are counted:
/// `headgate_tidied_rows_total`.
#[derive(Debug, Default)]
pub(super) struct Tidy {
    cursors: Mutex<Cursors>,
    is_complete: AtomicBool,
    /// By the current scan.
    found: Mutex<Tidied>,
}

#[async_trait]
impl Service for Tidy {
    fn name(&self) -> &'static str {
        "tidy"
    }

    fn interval(&self) -> Duration {
        if self.is_complete.load(Ordering::Relaxed) { SCAN_INTERVAL } else { PORTION_INTERVAL }
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool> {
        let tidied = tidy::scan(pool, term, &mut *self.cursors.lock().await).await?;
        let mut found = self.found.lock().await;
        *found += tidied;
        if tidied.is_complete {
            log(std::mem::take(&mut *found));
        }
        self.is_complete.store(tidied.is_complete, Ordering::Relaxed);
        Ok(false)
    }
}

/// Once a scan: where much went wrong every portion has a thousand of them, and there is a portion every second.
fn log(found: Tidied) {
    if found.ready + found.waiting + found.keys + found.heads + found.jobs > 0 {
        tracing::warn!(
            ready = found.ready,
            waiting = found.waiting,
            serialize_keys = found.keys,
            lines = found.heads,
            jobs = found.jobs,
            "removed rows that belonged to no job, and queued jobs that were in no queue"
        );
    }
}
