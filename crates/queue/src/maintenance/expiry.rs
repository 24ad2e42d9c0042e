//! Cancels jobs that have expired, wherever they wait.

use super::passed_over::PassedOver;
use super::portions::{Done, begin, in_portions};
use super::{MaintenanceHealth, Service};
use crate::error::Result;
use crate::store::connections::end;
use crate::store::jobs::{self, BEGIN, ExpiredJob};
use crate::store::leader::Term;
use crate::wake::wake_all;
use async_trait::async_trait;
use sqlx::PgPool;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

const NAME: &str = "expiry";
/// Nothing wakes it earlier. A run that finds nothing reads a few pages of an index of expiring jobs only.
const INTERVAL: Duration = Duration::from_secs(1);
/// Jobs cancelled in one transaction.
const PORTION: usize = 1_000;

/// Ends jobs as `cancelled`, with the reason `expired`, if they are not being processed when their `expires_at` has passed: within a second or so,
/// also where no claim would find them (`store/jobs/cancel/expire.rs`). One that cannot be ended, or is locked elsewhere, does not block others.
#[derive(Debug)]
pub(super) struct Expiry {
    /// How far a scan that found many has come; none: at the beginning.
    cursor: Mutex<Option<ExpiredJob>>,
    passed_over: PassedOver,
}

impl Default for Expiry {
    fn default() -> Self {
        Self { cursor: Mutex::default(), passed_over: PassedOver::by(NAME) }
    }
}

#[async_trait]
impl Service for Expiry {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sign(&self) -> Option<&'static str> {
        Some("exists (select from headgate.jobs where expires_at <= (select clock_timestamp()))")
    }

    fn interval(&self) -> Duration {
        INTERVAL
    }

    fn watch(&self, health: &MaintenanceHealth) {
        self.passed_over.watch(health);
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool> {
        let mut cursor = self.cursor.lock().await;
        let now = Instant::now();
        self.passed_over.forget_old(now);
        let left_alone = self.passed_over.left_alone(now);
        let mut transaction = pool.begin_with(BEGIN).await?;
        let found = jobs::expired(&mut transaction, *cursor, PORTION as i64, &left_alone).await?;
        transaction.commit().await?;
        *cursor = found.last().copied().filter(|_| found.len() == PORTION);
        let ids: Vec<_> = found.into_iter().map(|(_, id)| id).collect();
        let Done { answers, faulty, error, .. } = in_portions(&ids, PORTION, |portion| async move {
            let mut transaction = begin(pool, term).await?;
            let ended = jobs::expire(&mut transaction, &portion, term.holder).await;
            end(transaction, ended).await
        })
        .await;
        self.passed_over.note(faulty.iter().map(|(id, error)| (*id, error)));
        let count: usize = answers.iter().sum();
        if count > 0 {
            tracing::debug!(count, "cancelled expired jobs");
            // Jobs that waited for them may run now.
            wake_all(pool).await?;
        }
        error.map_or(Ok(cursor.is_some()), Err)
    }
}
