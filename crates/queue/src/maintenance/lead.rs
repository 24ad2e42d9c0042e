//! The leader: acquires the lease when it is free, renews it every third of its length, and runs the services meanwhile.

use super::{
    MaintenanceHealth, Service, all_services, backup_fold::fold_when_many, election::Election, run, signs,
};
use crate::config::EngineConfig;
use crate::error::QueueError;
use crate::pool;
use crate::store::leader::{self, Candidate, Term};
use crate::store::partitions;
use model::id::WorkerId;
use sqlx::PgPool;
use std::{sync::Arc, time::Duration};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// Renewals, and attempts to become the leader, per lease: a dead leader is replaced after at most four thirds of a lease.
const RENEWALS_PER_LEASE: u32 = 3;

/// Connections of the leader's services: few, so that each soon has its plans, and separate from the pool that claims and records jobs.
const CONNECTIONS: u32 = 8;

/// How long runs may take to finish when this process ceases to lead, or ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// The running maintenance of one process.
pub struct Maintenance {
    health: MaintenanceHealth,
    task: JoinHandle<()>,
}

impl Maintenance {
    /// Starts the engine's services and the given ones, under the id of this process's worker if it has one: then the list of workers shows who leads.
    #[must_use]
    pub fn start(
        pool: PgPool,
        config: EngineConfig,
        extra: Vec<Arc<dyn Service>>,
        worker: Option<WorkerId>,
        token: CancellationToken,
    ) -> Self {
        let services = all_services(&config, extra);
        let health = MaintenanceHealth::new(services.iter().map(|service| service.name()));
        services.iter().for_each(|service| service.watch(&health));
        tokio::spawn(fold_when_many(pool.clone(), health.clone(), token.clone()));
        let pool = pool::background(&pool, "headgate maintenance", CONNECTIONS);
        let candidate = Candidate {
            holder: worker.unwrap_or_else(WorkerId::generate),
            services: services.len().try_into().unwrap_or(i16::MAX),
        };
        let election = Election::new(pool.clone(), candidate);
        let lead =
            Lead { pool, election, services, health: health.clone(), lease: config.leader_lease, token };
        Self { health, task: tokio::spawn(lead.run()) }
    }

    /// Reads the health of each service, for `/readyz` and `/metrics`.
    #[must_use]
    pub fn watch(&self) -> MaintenanceHealth {
        self.health.clone()
    }

    /// Waits until the services have ended and the lease is released. Cancel the token first.
    pub async fn stopped(self) {
        if let Err(error) = self.task.await {
            tracing::error!(%error, "maintenance ended unexpectedly");
        }
    }

    /// Becomes the leader, runs every service until none has more to do, and releases the lease: for tests and tools, which need not wait
    /// for intervals. False when another process leads.
    ///
    /// # Errors
    /// That of the first service that fails.
    pub async fn run_once(
        pool: &PgPool,
        config: &EngineConfig,
        extra: Vec<Arc<dyn Service>>,
    ) -> Result<bool, QueueError> {
        let mut connection = pool.acquire().await?;
        let Some(term) =
            leader::acquire(&mut connection, WorkerId::generate(), config.leader_lease * 6).await?
        else {
            return Ok(false);
        };
        let mut ran = Ok(true);
        'services: for service in all_services(config, extra) {
            loop {
                match service.run_once(pool, term).await {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        ran = Err(error);
                        break 'services;
                    }
                }
            }
        }
        leader::release(&mut connection, term).await?;
        ran
    }
}

/// A process's part in leading.
struct Lead {
    pool: PgPool,
    election: Election,
    services: Vec<Arc<dyn Service>>,
    health: MaintenanceHealth,
    lease: Duration,
    token: CancellationToken,
}

impl Lead {
    async fn run(mut self) {
        self.make_partitions().await;
        while !self.token.is_cancelled() {
            let asked_at = Instant::now();
            match self.election.acquire(self.lease).await {
                Ok(Some(term)) => self.lead(term, asked_at).await,
                Ok(None) => self.sleep(self.renewal_interval()).await,
                Err(error) => {
                    tracing::debug!(error = %error.with_causes(), "the leader's lease could not be requested");
                    self.sleep(self.renewal_interval()).await;
                }
            }
        }
        self.election.close().await;
        // A dead server does not answer.
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.pool.close()).await;
    }

    /// Every process does this, because today's partitions must exist before any job finishes.
    async fn make_partitions(&self) {
        while let Err(error) = partitions::make_ahead(&self.pool).await {
            tracing::warn!(error = %error.with_causes(), "day partitions could not be created: trying again");
            self.sleep(self.renewal_interval()).await;
            if self.token.is_cancelled() {
                return;
            }
        }
    }

    async fn lead(&mut self, term: Term, asked_at: Instant) {
        tracing::info!(worker.id = %term.holder, term = term.number, "became the leader: maintenance runs here");
        self.health.leads(true);
        let services_end = self.token.child_token();
        let mut running = JoinSet::new();
        let signs = signs::poll(&self.services, &self.pool, services_end.clone());
        for (service, sign) in self.services.iter().zip(signs) {
            running.spawn(run::repeat(
                Arc::clone(service),
                self.pool.clone(),
                term,
                self.health.clone(),
                sign,
                services_end.clone(),
            ));
        }
        let has_lease = self.keep_renewing(term, asked_at).await;
        services_end.cancel();
        let ended = async { while running.join_next().await.is_some() {} };
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, ended).await.is_err() {
            // A rebuild of an index or a large vacuum: Postgres stops it when it finds the connection closed.
            tracing::info!("a long maintenance run is aborted");
            running.shutdown().await;
        }
        self.health.leads(false);
        if has_lease {
            // If this fails, the lease ends by itself, ten seconds later.
            let _ = self.election.release(term).await;
        }
        tracing::info!(worker.id = %term.holder, term = term.number, "is no longer the leader");
    }

    /// Renews the lease until the process ends (true: the lease is still ours) or the lease is lost (false).
    async fn keep_renewing(&mut self, term: Term, asked_at: Instant) -> bool {
        // Counted from before the request, because the answer may have taken long.
        let mut lease_until = asked_at + self.lease;
        let mut has_failed = false;
        loop {
            self.sleep(
                self.renewal_interval().min(lease_until.saturating_duration_since(Instant::now()) / 2),
            )
            .await;
            if self.token.is_cancelled() {
                return true;
            }
            let asked_at = Instant::now();
            match self.election.renew(term, self.lease).await {
                Ok(true) => {
                    lease_until = asked_at + self.lease;
                    has_failed = false;
                }
                Ok(false) => return false,
                Err(error) => {
                    // The end of the lease is logged too.
                    if !std::mem::replace(&mut has_failed, true) {
                        tracing::warn!(error = %error.with_causes(), "the leader's lease could not be renewed");
                    }
                    if Instant::now() + Duration::from_millis(200) >= lease_until {
                        return false;
                    }
                }
            }
        }
    }

    fn renewal_interval(&self) -> Duration {
        self.lease / RENEWALS_PER_LEASE
    }

    /// Returns early when the process ends.
    async fn sleep(&self, wait: Duration) {
        tokio::select! {
            () = self.token.cancelled() => {}
            () = sleep(wait) => {}
        }
    }
}
