//! Takes back jobs whose worker is gone.

use super::{
    MaintenanceHealth, Service,
    passed_over::PassedOver,
    portions::{Done, begin, in_portions},
};
use crate::{
    config::EngineConfig,
    error::QueueError,
    pool::end,
    store::{
        jobs::{self, Lost},
        leader::Term,
        workers,
    },
    wake,
};
use async_trait::async_trait;
use model::id::{ClaimBatchId, JobId, WorkerId};
use sqlx::PgPool;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// As health and metrics know it.
const NAME: &str = "lease_recovery";
/// Claim batches looked at in one run.
const CLAIM_BATCHES: i64 = 50;
/// Jobs taken back in one transaction.
const JOBS: usize = 1_000;

/// Finds jobs whose lease has ended and ends their attempt: to be retried, or, of a program's own jobs, a dead letter after three leases lost in
/// a row. One that cannot be taken back is passed over, and so is one that somebody else holds, or whose key somebody holds: all others go back.
#[derive(Debug)]
pub struct LeaseRecovery {
    interval: Duration,
    cursors: Mutex<Cursors>,
    passed_over: PassedOver,
}

/// How far it has come.
#[derive(Debug, Default)]
struct Cursors {
    /// Up to where claims of workers that are gone were looked at; none: from the beginning.
    dead: Option<ClaimBatchId>,
    /// Up to where claims that have ended were looked for.
    ended: Option<ClaimBatchId>,
}

impl LeaseRecovery {
    /// Looks every `HEADGATE_RECOVERY_INTERVAL`.
    #[must_use]
    pub fn new(config: &EngineConfig) -> Self {
        Self {
            interval: config.recovery_interval,
            cursors: Mutex::default(),
            passed_over: PassedOver::by(NAME),
        }
    }

    /// Takes these back, as many as can be.
    async fn take_back(
        &self,
        pool: &PgPool,
        term: Term,
        held: &[(JobId, WorkerId)],
    ) -> Result<Lost, QueueError> {
        let Done { answers, faulty, error, .. } = in_portions(held, JOBS, |portion| async move {
            let mut transaction = begin(pool, term).await?;
            let lost = jobs::lose(&mut transaction, &portion).await;
            end(transaction, lost).await
        })
        .await;
        for ((id, _), error) in &faulty {
            self.passed_over.note(*id, error);
        }
        let lost = answers.into_iter().sum();
        if lost != Lost::default() {
            let Lost { given_back, dead, cancelled } = lost;
            tracing::warn!(given_back, dead, cancelled, "took jobs back from workers that vanished");
            wake::all(pool).await?;
        }
        error.map_or(Ok(lost), Err)
    }
}

#[async_trait]
impl Service for LeaseRecovery {
    fn name(&self) -> &'static str {
        NAME
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    fn watch(&self, health: &MaintenanceHealth) {
        self.passed_over.watch(health);
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let mut cursors = self.cursors.lock().await;
        let mut transaction = begin(pool, term).await?;
        let found = jobs::dead_claims(&mut transaction, cursors.dead, CLAIM_BATCHES).await?;
        transaction.commit().await?;
        if !found.batches.is_empty() {
            let now = Instant::now();
            let is_taken = |(id, _): &(JobId, WorkerId)| !self.passed_over.is_left_alone(*id, now);
            let held: Vec<_> = found.jobs.into_iter().filter(is_taken).collect();
            self.take_back(pool, term, &held).await?;
            let mut transaction = begin(pool, term).await?;
            jobs::forget_dead_claims(&mut transaction, &found.batches).await?;
            transaction.commit().await?;
        }
        let is_through = (found.batches.len() as i64) < CLAIM_BATCHES;
        cursors.dead = found.batches.last().copied().filter(|_| !is_through);
        if !is_through {
            return Ok(true);
        }
        self.passed_over.forget_old(Instant::now());
        cursors.ended = workers::forget_claims(pool, term, cursors.ended).await?;
        workers::remove_dead(pool, term).await?;
        Ok(cursors.ended.is_some())
    }
}
