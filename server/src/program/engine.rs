//! The engine of a process: deliveries, claiming, maintenance.

use crate::config::{ConfigError, EngineSettings};
use delivery::{Delivery, DeliveryConfig, DeliveryError, MasterKey, TargetGuard};
use model::retention::Retained;
use queue::maintenance::{Maintenance, MaintenanceHealth, Service};
use queue::worker::{self, EngineWatch, Handlers};
use queue::{EngineConfig, Waker};
use sqlx::PgPool;
use std::{io::Write as _, sync::Arc, time::Duration};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// Even with short heartbeat intervals, so that a busy machine is not taken for a stuck one.
const MIN_WATCHDOG_TIMEOUT: Duration = Duration::from_secs(10);
/// Exit code of a process whose loops are stuck (`EX_SOFTWARE`): the service manager restarts it.
const EXIT_STUCK: i32 = 70;

/// The worker and the maintenance of this process.
pub(crate) struct Engine {
    /// `None`: this process runs no jobs.
    worker: Option<worker::Engine>,
    maintenance: Maintenance,
    maintenance_stop: CancellationToken,
    config: EngineConfig,
}

impl Engine {
    /// Starts claiming (unless `workers` is 0) and maintenance. `stop` ends claiming.
    pub(crate) fn start(
        pool: &PgPool,
        settings: &EngineSettings,
        delivery: &Delivery,
        stop: &CancellationToken,
    ) -> Self {
        let config = config(settings);
        let worker = (config.workers > 0).then(|| {
            let handlers = Handlers::new(delivery.handler());
            worker::Engine::start_watched(
                pool.clone(),
                config.clone(),
                handlers,
                stop.child_token(),
                Arc::new(end_process),
            )
        });
        if let Some(worker) = &worker {
            delivery.wake_directly(worker);
        }
        // Maintenance goes on while running jobs finish, so that their counters are folded too.
        let maintenance_stop = CancellationToken::new();
        let services = services(delivery, &config);
        let worker_id = worker.as_ref().map(worker::Engine::worker_id);
        let token = maintenance_stop.clone();
        let maintenance = Maintenance::start(pool.clone(), config.clone(), services, worker_id, token);
        Self { worker, maintenance, maintenance_stop, config }
    }

    /// `None` when this process runs no jobs.
    pub(crate) fn watch(&self) -> Option<EngineWatch> {
        self.worker.as_ref().map(worker::Engine::watch)
    }

    pub(crate) fn health(&self) -> MaintenanceHealth {
        self.maintenance.watch()
    }

    /// When the process must have ended if it begins to stop now.
    pub(crate) fn shutdown_deadline(&self) -> Instant {
        self.config.shutdown_deadline(Instant::now())
    }

    /// Shuts down in order: claiming stops, running jobs finish, results are recorded, then maintenance releases leadership.
    pub(crate) async fn shutdown(self, ends_at: Instant) {
        if let Some(worker) = self.worker {
            worker.shutdown().await;
        }
        self.maintenance_stop.cancel();
        if timeout_at(ends_at, self.maintenance.stopped()).await.is_err() {
            tracing::warn!("maintenance did not stop in time: its leader lease will run out");
        }
    }
}

/// The services that the leader runs beside the engine's own.
fn services(delivery: &Delivery, config: &EngineConfig) -> Vec<Arc<dyn Service>> {
    let mut services = delivery.services(config.retentions);
    services.extend(insight::services::services(config));
    services.extend(access::services(config.retentions));
    services
}

/// Called when the engine is stuck: the process would look healthy and do nothing.
fn end_process(part: &'static str) {
    let _ = writeln!(
        std::io::stderr(),
        "headgate: {part} is stuck: ending now; jobs that ran here start again elsewhere when the lease has run out"
    );
    std::process::exit(EXIT_STUCK);
}

/// The deliveries of this process, on a migrated database.
///
/// # Errors
/// When the HTTP client cannot be set up, or the master key is not the one that encrypted the secrets in the database.
pub(crate) async fn delivery(
    pool: &PgPool,
    settings: &EngineSettings,
    master_key: MasterKey,
) -> anyhow::Result<Delivery> {
    let guard = TargetGuard::new(settings.delivery.allowed_targets.clone(), settings.delivery.allow_http);
    let delivery =
        Delivery::new(pool.clone(), master_key, guard, delivery_config(settings), Waker::new(pool.clone()))?;
    match delivery.check_master_key().await {
        // The error's own text is not used: for one wrong key in 256 it would report a damaged secret.
        Err(DeliveryError::Sealed(_)) => {
            let words = "HEADGATE_MASTER_KEY: this key does not decrypt the secrets in this database: they were encrypted with another one";
            return Err(ConfigError::Contradiction(words.into()).into());
        }
        checked => checked?,
    }
    Ok(delivery)
}

/// Deliveries for a command that decrypts no secret and sends nothing, so that any key will do.
pub(crate) fn delivery_without_key(pool: &PgPool, config: DeliveryConfig) -> Result<Delivery, DeliveryError> {
    let guard = TargetGuard::new(Vec::new(), false);
    Delivery::new(pool.clone(), MasterKey::generate(), guard, config, Waker::new(pool.clone()))
}

fn delivery_config(settings: &EngineSettings) -> DeliveryConfig {
    DeliveryConfig {
        timeout: settings.workers.job_timeout,
        max_attempts: settings.retry.max_attempts,
        masked_fields: settings.delivery.masked_fields.clone(),
        event_id_retention: settings.retentions.of(Retained::EventIds),
        ..DeliveryConfig::default()
    }
}

fn config(settings: &EngineSettings) -> EngineConfig {
    let workers = &settings.workers;
    EngineConfig {
        workers: workers.workers,
        fetch_limit: workers.fetch_limit,
        poll_interval: workers.poll_interval,
        job_timeout: workers.job_timeout,
        backoff: settings.retry.backoff.clone(),
        breaker_failures: settings.retry.breaker_failures,
        heartbeat_interval: workers.heartbeat_interval,
        watchdog_timeout: (workers.heartbeat_interval * 3).max(MIN_WATCHDOG_TIMEOUT),
        leader_lease: EngineConfig::default().leader_lease,
        recovery_interval: workers.recovery_interval,
        lock_timeout: EngineConfig::default().lock_timeout,
        idle_in_transaction_timeout: EngineConfig::default().idle_in_transaction_timeout,
        shutdown_grace: workers.shutdown_grace,
        retentions: settings.retentions,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Sources, all_keys};
    use model::retention::Retentions;
    use queue::maintenance::all_services;
    use std::collections::{BTreeMap, BTreeSet};

    #[tokio::test]
    async fn every_service_has_a_name_of_its_own_and_a_sentence_in_the_console() {
        let pool = PgPool::connect_lazy("postgres:///none").unwrap();
        let delivery = delivery_without_key(&pool, DeliveryConfig::default()).unwrap();
        let config = EngineConfig::default();
        let mut names = BTreeSet::new();
        for service in all_services(&config, services(&delivery, &config)) {
            let name = service.name();
            assert!(names.insert(name), "two services are called {name}");
            assert!(app::pages::service_sentence(name).is_some(), "{name}");
        }
    }

    #[test]
    fn every_setting_reaches_the_engine() {
        let given = [
            ("HEADGATE_WORKERS", "7"),
            ("HEADGATE_FETCH_LIMIT", "8"),
            ("HEADGATE_POLL_INTERVAL", "11ms"),
            ("HEADGATE_JOB_TIMEOUT", "12s"),
            ("HEADGATE_MAX_ATTEMPTS", "13"),
            ("HEADGATE_RETRY_SCHEDULE", "14s,15s"),
            ("HEADGATE_RETRY_JITTER", "0.25"),
            ("HEADGATE_BREAKER_FAILURES", "16"),
            ("HEADGATE_HEARTBEAT_INTERVAL", "17s"),
            ("HEADGATE_RECOVERY_INTERVAL", "18s"),
            ("HEADGATE_SHUTDOWN_GRACE", "19s"),
            ("HEADGATE_RETENTION", "20d"),
            ("HEADGATE_DELETED_RECORD_RETENTION", "21d"),
            ("HEADGATE_RESYNC_RETENTION", "22d"),
            ("HEADGATE_OPERATION_RETENTION", "23d"),
            ("HEADGATE_AUDIT_RETENTION", "24d"),
            ("HEADGATE_EVENT_ID_RETENTION", "25d"),
        ];
        let environment = given.map(|(name, value)| (name.into(), value.into()));
        let sources = Sources::gather(BTreeMap::new(), environment, None, &all_keys()).unwrap();
        let settings = EngineSettings::read(&sources).unwrap();
        let seconds = Duration::from_secs;
        let expected = EngineConfig {
            workers: 7,
            fetch_limit: 8,
            poll_interval: Duration::from_millis(11),
            job_timeout: seconds(12),
            backoff: model::rules::backoff::Backoff { schedule: "14s,15s".parse().unwrap(), jitter: 0.25 },
            breaker_failures: 16,
            heartbeat_interval: seconds(17),
            watchdog_timeout: seconds(51),
            recovery_interval: seconds(18),
            shutdown_grace: seconds(19),
            retentions: Retained::ALL
                .iter()
                .zip(20..)
                .fold(Retentions::default(), |kept, (&what, days)| kept.with(what, seconds(days * 86_400))),
            ..EngineConfig::default()
        };
        assert_eq!(config(&settings), expected);
        let delivery = delivery_config(&settings);
        assert_eq!((delivery.timeout, delivery.max_attempts), (seconds(12), 13));
        assert_eq!(delivery.event_id_retention, expected.retentions.of(Retained::EventIds));
    }
}
