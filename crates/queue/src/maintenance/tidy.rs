//! Takes away what belongs to nothing any more, and lets jobs go on that a fault left out of the queue.

use super::Service;
use crate::{
    error::QueueError,
    store::{
        leader::Term,
        tidy::{self, Cursors, Tidied},
    },
};
use async_trait::async_trait;
use sqlx::PgPool;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use tokio::sync::Mutex;

/// Between two looks at everything.
const REST: Duration = Duration::from_secs(60 * 60);
/// Between two pieces of one look: ten million entries take a few hours, and nobody notices.
const STEP: Duration = Duration::from_secs(1);

/// Looks through `ready`, `waiting` and the serialize keys for rows without a job, and through the jobs for those that stand in no queue; a line
/// whose first is gone goes on with the next. There are none unless something went wrong, and then they are counted:
/// `headgate_tidied_rows_total`.
#[derive(Debug, Default)]
pub struct Tidy {
    cursors: Mutex<Cursors>,
    is_through: AtomicBool,
    /// By the look under way.
    found: Mutex<Tidied>,
}

#[async_trait]
impl Service for Tidy {
    fn name(&self) -> &'static str {
        "tidy"
    }

    fn interval(&self) -> Duration {
        if self.is_through.load(Ordering::Relaxed) { REST } else { STEP }
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let tidied = tidy::look(pool, term, &mut *self.cursors.lock().await).await?;
        let mut found = self.found.lock().await;
        *found += tidied;
        if tidied.is_through {
            say(std::mem::take(&mut *found));
        }
        self.is_through.store(tidied.is_through, Ordering::Relaxed);
        Ok(false)
    }
}

/// Once for a look: one piece has a thousand of them where much went wrong, and there is a piece every second.
fn say(found: Tidied) {
    if found.ready + found.waiting + found.keys + found.lines + found.jobs > 0 {
        tracing::warn!(
            ready = found.ready,
            waiting = found.waiting,
            serialize_keys = found.keys,
            lines = found.lines,
            jobs = found.jobs,
            "took away rows that belonged to no job, and let jobs that stood in no queue into it"
        );
    }
}
