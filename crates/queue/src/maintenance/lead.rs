//! Who maintains: takes the leader's lease when it is free, renews it each third of its length, and runs the services meanwhile.

use super::{
    MaintenanceHealth, Service, ServiceHealth, engine_services, run, seat::Seat, signs, stand_in::stand_in,
};
use crate::{
    config::EngineConfig,
    error::QueueError,
    pool,
    store::{
        leader::{self, Term},
        partitions,
    },
};
use model::id::WorkerId;
use sqlx::PgPool;
use std::{sync::Arc, time::Duration};
use tokio::{
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

/// Renewals, and tries to become the leader, in the time of one lease: a dead leader is replaced after at most that and a third.
const RENEWALS: u32 = 3;

/// The services' connections, of the process that leads: few, so that each has made its plans soon after it was opened, and apart from those
/// that jobs are read and recorded by.
const CONNECTIONS: u32 = 8;

/// How long runs under way get to finish when this process leads no more, or ends.
const LAST_RUNS: Duration = Duration::from_secs(5);

/// The maintenance of one process.
pub struct Maintenance {
    pool: PgPool,
    seat: Seat,
    services: Vec<Arc<dyn Service>>,
    health: MaintenanceHealth,
    lease: Duration,
    token: CancellationToken,
}

impl Maintenance {
    /// Starts the engine's services and the given ones under a holder id of their own.
    #[must_use]
    pub fn start(
        pool: PgPool,
        config: EngineConfig,
        extra: Vec<Arc<dyn Service>>,
        token: CancellationToken,
    ) -> MaintenanceHandle {
        Self::start_as(WorkerId::generate(), pool, config, extra, token)
    }

    /// The same under the id of this process's worker, so that the list of workers shows who leads.
    #[must_use]
    pub fn start_as(
        holder: WorkerId,
        pool: PgPool,
        config: EngineConfig,
        extra: Vec<Arc<dyn Service>>,
        token: CancellationToken,
    ) -> MaintenanceHandle {
        let mut services = engine_services(&config);
        services.extend(extra);
        let health = MaintenanceHealth::new(services.iter().map(|service| service.name()));
        services.iter().for_each(|service| service.watch(&health));
        tokio::spawn(stand_in(pool.clone(), health.clone(), token.clone()));
        let pool = pool::background(&pool, "headgate maintenance", CONNECTIONS);
        let seat = Seat::new(pool.clone(), holder);
        let maintenance =
            Self { pool, seat, services, health: health.clone(), lease: config.leader_lease, token };
        MaintenanceHandle { health, task: tokio::spawn(maintenance.run()) }
    }

    /// Takes the lead, runs every service until none has more to do, and gives the lead back: for tests and tools, which need no
    /// clock for it. False when another process leads.
    ///
    /// # Errors
    /// The first service's that fails.
    pub async fn run_once(
        pool: &PgPool,
        config: &EngineConfig,
        extra: Vec<Arc<dyn Service>>,
    ) -> Result<bool, QueueError> {
        let mut connection = pool.acquire().await?;
        let Some(term) = leader::take(&mut connection, WorkerId::generate(), config.leader_lease * 6).await?
        else {
            return Ok(false);
        };
        let mut ran = Ok(true);
        'services: for service in engine_services(config).into_iter().chain(extra) {
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

    async fn run(mut self) {
        self.make_partitions().await;
        while !self.token.is_cancelled() {
            let asked_at = Instant::now();
            match self.seat.take(self.lease).await {
                Ok(Some(term)) => self.lead(term, asked_at).await,
                Ok(None) => self.pause(self.renewal()).await,
                Err(error) => {
                    tracing::debug!(error = %run::with_causes(&error), "the leader's lease cannot be asked for");
                    self.pause(self.renewal()).await;
                }
            }
        }
        self.seat.leave().await;
        // A dead server answers no farewell.
        let _ = tokio::time::timeout(LAST_RUNS, self.pool.close()).await;
    }

    /// Today's partitions must be there before anything finishes, whoever leads.
    async fn make_partitions(&self) {
        while let Err(error) = partitions::make_ahead(&self.pool).await {
            tracing::warn!(error = %run::with_causes(&error), "day partitions could not be made: tried again");
            self.pause(self.renewal()).await;
            if self.token.is_cancelled() {
                return;
            }
        }
    }

    async fn lead(&mut self, term: Term, asked_at: Instant) {
        tracing::info!(worker.id = %term.holder, term = term.number, "leads: maintenance runs here");
        self.health.leads(true);
        let services_end = self.token.child_token();
        let mut running = JoinSet::new();
        let signs = signs::look_for(&self.services, &self.pool, services_end.clone());
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
        let holds = self.keep(term, asked_at).await;
        services_end.cancel();
        let ended = async { while running.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_RUNS, ended).await.is_err() {
            // A rebuilt index or a large vacuum: the server stops it when it finds the connection closed.
            tracing::info!("a long maintenance run is broken off");
            running.shutdown().await;
        }
        self.health.leads(false);
        if holds {
            // The next leader would find out by itself, ten seconds later.
            let _ = self.seat.release(term).await;
        }
        tracing::info!(worker.id = %term.holder, term = term.number, "leads no more");
    }

    /// Renews until the end of the process (true: the lease still holds) or of the lease (false).
    async fn keep(&mut self, term: Term, asked_at: Instant) -> bool {
        // Counted from before the question: the database's answer may have taken its time.
        let mut holds_until = asked_at + self.lease;
        loop {
            self.pause(self.renewal().min(holds_until.saturating_duration_since(Instant::now()) / 2)).await;
            if self.token.is_cancelled() {
                return true;
            }
            let asked_at = Instant::now();
            match self.seat.renew(term, self.lease).await {
                Ok(true) => holds_until = asked_at + self.lease,
                Ok(false) => return false,
                Err(error) => {
                    tracing::warn!(error = %run::with_causes(&error), "the leader's lease could not be renewed");
                    if Instant::now() + Duration::from_millis(200) >= holds_until {
                        return false;
                    }
                }
            }
        }
    }

    fn renewal(&self) -> Duration {
        self.lease / RENEWALS
    }

    async fn pause(&self, wait: Duration) {
        tokio::select! {
            () = self.token.cancelled() => {}
            () = sleep(wait) => {}
        }
    }
}

/// A running maintenance.
pub struct MaintenanceHandle {
    health: MaintenanceHealth,
    task: JoinHandle<()>,
}

impl MaintenanceHandle {
    /// How each service is doing.
    #[must_use]
    pub fn health(&self) -> Vec<ServiceHealth> {
        self.health.services()
    }

    /// The same for as long as it is asked, for `/readyz` and `/metrics`.
    #[must_use]
    pub fn watch(&self) -> MaintenanceHealth {
        self.health.clone()
    }

    /// Waits until the services have ended and the lease is given back. Cancel the token first.
    pub async fn stopped(self) {
        if let Err(error) = self.task.await {
            tracing::error!(%error, "maintenance ended by a fault of its own");
        }
    }
}
