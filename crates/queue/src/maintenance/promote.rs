//! Moves due jobs from `waiting` to `ready`.

use super::passed_over::PassedOver;
use super::portions::{Done, in_portions};
use super::{MaintenanceHealth, Service};
use crate::error::{QueueError, Result};
use crate::store::leader::Term;
use crate::store::promotion::{self, Promoted};
use async_trait::async_trait;
use sqlx::PgPool;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

const NAME: &str = "promote";
/// Jobs moved by one statement.
const PORTION: i32 = 1_000;
/// While a job is due soon.
const MIN_INTERVAL: Duration = Duration::from_millis(250);
/// While none is: a retry after a second may be added any time, and claimers promote by themselves when they find nothing.
const MAX_INTERVAL: Duration = Duration::from_secs(1);

/// How often lanes that sleep although they have work are woken, and `lane_wakes` is thinned.
const WAKE_INTERVAL: Duration = Duration::from_secs(2);

/// How long a job that cannot be moved is postponed in `waiting`, so that no claimer meets it earlier.
const POSTPONED: Duration = Duration::from_secs(60);

/// Promotes due jobs, wakes forgotten lanes and thins `lane_wakes`; sleeps until the next job is due. A job that cannot be moved does not block others.
#[derive(Debug)]
pub(super) struct Promote {
    next_in_ms: AtomicU64,
    woke_at: Mutex<Option<Instant>>,
    passed_over: PassedOver,
}

impl Default for Promote {
    fn default() -> Self {
        Self {
            next_in_ms: AtomicU64::default(),
            woke_at: Mutex::default(),
            passed_over: PassedOver::by(NAME),
        }
    }
}

impl Promote {
    /// Moves due jobs in portions after moving them together failed, and postpones those that it fails for.
    async fn promote_in_portions(&self, pool: &PgPool, term: Term) -> Result<()> {
        let due = promotion::due(pool, PORTION).await?;
        let Done { faulty, error, .. } = in_portions(&due, due.len(), |portion| async move {
            promotion::promote_these(pool, term, &portion).await
        })
        .await;
        self.passed_over.note(faulty.iter().map(|(id, error)| (*id, error)));
        let faulty: Vec<_> = faulty.into_iter().map(|(id, _)| id).collect();
        promotion::postpone(pool, term, &faulty, POSTPONED).await?;
        error.map_or(Ok(()), Err)
    }
}

#[async_trait]
impl Service for Promote {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sign(&self) -> Option<&'static str> {
        Some(
            "exists (select from headgate.waiting where due_at < (select clock_timestamp()) + interval '1 second') \
             or exists (select from headgate.ready)",
        )
    }

    fn interval(&self) -> Duration {
        Duration::from_millis(self.next_in_ms.load(Ordering::Relaxed)).clamp(MIN_INTERVAL, MAX_INTERVAL)
    }

    fn watch(&self, health: &MaintenanceHealth) {
        self.passed_over.watch(health);
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool> {
        let promoted = match promotion::promote_due(pool, term, PORTION).await {
            Err(QueueError::Database(_) | QueueError::Timeout) => {
                self.promote_in_portions(pool, term).await?;
                Promoted { count: 0, next_in_ms: Some(0) }
            }
            promoted => promoted?,
        };
        self.next_in_ms.store(promoted.next_in_ms.unwrap_or(u64::MAX), Ordering::Relaxed);
        let mut woke_at = self.woke_at.lock().await;
        if woke_at.is_none_or(|at| at.elapsed() >= WAKE_INTERVAL) {
            promotion::wake_forgotten(pool).await?;
            promotion::thin_lane_wakes(pool).await?;
            *woke_at = Some(Instant::now());
        }
        Ok(promoted.count >= PORTION)
    }
}
