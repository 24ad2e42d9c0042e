//! Moves jobs whose time has come from `waiting` to `ready`.

use super::Service;
use crate::{
    error::QueueError,
    store::{leader::Term, promotion},
};
use async_trait::async_trait;
use sqlx::PgPool;
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};
use tokio::sync::Mutex;

/// Jobs moved by one statement.
const CHUNK: i32 = 1_000;
/// While something is due soon.
const SOONEST: Duration = Duration::from_millis(250);
/// While nothing is: a retry of a second may come any time, and claimers promote by themselves when they find nothing.
const LATEST: Duration = Duration::from_secs(1);

/// Between two looks for lanes that sleep over their work.
const WAKES_EVERY: Duration = Duration::from_secs(2);

/// Promotes due jobs and wakes forgotten lanes; sleeps until the next job is due.
#[derive(Debug, Default)]
pub struct Promote {
    next_in_ms: AtomicU64,
    woke_at: Mutex<Option<Instant>>,
}

#[async_trait]
impl Service for Promote {
    fn name(&self) -> &'static str {
        "promote"
    }

    fn interval(&self) -> Duration {
        Duration::from_millis(self.next_in_ms.load(Ordering::Relaxed)).clamp(SOONEST, LATEST)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let promoted = promotion::promote_due(pool, term, CHUNK).await?;
        self.next_in_ms.store(promoted.next_in_ms.unwrap_or(u64::MAX), Ordering::Relaxed);
        let mut woke_at = self.woke_at.lock().await;
        if woke_at.is_none_or(|at| at.elapsed() >= WAKES_EVERY) {
            promotion::wake_forgotten(pool).await?;
            *woke_at = Some(Instant::now());
        }
        Ok(promoted.count >= CHUNK)
    }
}
