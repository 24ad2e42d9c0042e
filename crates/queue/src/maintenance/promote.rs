//! Moves jobs whose time has come from `waiting` to `ready`.

use super::{
    MaintenanceHealth, Service,
    passed_over::PassedOver,
    portions::{Done, in_portions},
};
use crate::{
    error::QueueError,
    store::{
        leader::Term,
        promotion::{self, Promoted},
    },
};
use async_trait::async_trait;
use sqlx::PgPool;
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};
use tokio::sync::Mutex;

/// As health and metrics know it.
const NAME: &str = "promote";
/// Jobs moved by one statement.
const CHUNK: i32 = 1_000;
/// While something is due soon.
const SOONEST: Duration = Duration::from_millis(250);
/// While nothing is: a retry of a second may come any time, and claimers promote by themselves when they find nothing.
const LATEST: Duration = Duration::from_secs(1);

/// Between two looks for lanes that sleep over their work, and at the notes about lanes.
const WAKES_EVERY: Duration = Duration::from_secs(2);

/// How long a job waits that cannot be moved. It stands in `waiting` at that time, so that nobody else meets it before.
const POSTPONED: Duration = Duration::from_secs(60);

/// Promotes due jobs, wakes forgotten lanes and thins out notes about them; sleeps until the next job is due. A job that cannot be moved keeps no other waiting.
#[derive(Debug)]
pub struct Promote {
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
    /// Moves what is due in parts, since moving it together failed, and lets those wait that it failed for.
    async fn promote_in_parts(&self, pool: &PgPool, term: Term) -> Result<(), QueueError> {
        let due = promotion::due(pool, CHUNK).await?;
        let most = due.len();
        let Done { faulty, error, .. } =
            in_portions(
                &due,
                most,
                |portion| async move { promotion::promote_these(pool, term, &portion).await },
            )
            .await;
        for (id, error) in &faulty {
            self.passed_over.note(*id, error);
        }
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
        Duration::from_millis(self.next_in_ms.load(Ordering::Relaxed)).clamp(SOONEST, LATEST)
    }

    fn watch(&self, health: &MaintenanceHealth) {
        self.passed_over.watch(health);
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let promoted = match promotion::promote_due(pool, term, CHUNK).await {
            Err(QueueError::Database(_) | QueueError::Timeout) => {
                self.promote_in_parts(pool, term).await?;
                Promoted { count: 0, next_in_ms: Some(0) }
            }
            promoted => promoted?,
        };
        self.next_in_ms.store(promoted.next_in_ms.unwrap_or(u64::MAX), Ordering::Relaxed);
        let mut woke_at = self.woke_at.lock().await;
        if woke_at.is_none_or(|at| at.elapsed() >= WAKES_EVERY) {
            promotion::wake_forgotten(pool).await?;
            promotion::thin_notes(pool).await?;
            *woke_at = Some(Instant::now());
        }
        Ok(promoted.count >= CHUNK)
    }
}
