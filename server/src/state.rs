//! The state of the routes.

use crate::health::{EngineReporter, Health};
use crate::metrics::Metrics;
use crate::middleware::{Pace, RequestMemory, TrustedProxies};
pub use crate::program::Pools;
use crate::replica::Replica;
use axum::extract::FromRef;
use delivery::MasterKey;
use insight::live::LiveHub;
use leptos::config::LeptosOptions;
use model::instance::Instance;
use queue::{maintenance::MaintenanceHealth, worker::EngineWatch};
use service::Headgate;
use sqlx::PgPool;
use std::{ops::Deref, sync::Arc};
use tokio_util::sync::CancellationToken;

/// The parts of the program, shared by all requests. Each layer and handler clones it, so that must be cheap.
#[derive(Clone)]
pub struct AppState(Arc<Parts>);

impl AppState {
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// The same parts, with this pool for everything a request does.
    pub(crate) fn with_pool(&self, pool: &PgPool) -> Self {
        Self::new(Parts { headgate: self.headgate.with_pool(pool), ..Parts::clone(self) })
    }
}

impl Deref for AppState {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

#[derive(Clone)]
pub struct Parts {
    /// The use cases.
    pub headgate: Headgate,
    /// For probes, metrics and calls with an `Idempotency-Key`; handlers and pages are given the use cases only.
    pub pools: Pools,
    /// The replica that lists are read from, if there is one.
    pub replica: Option<Replica>,
    pub live: LiveHub,
    pub maintenance: MaintenanceHealth,
    /// `None` when this process runs no jobs.
    pub engine: Option<EngineWatch>,
    /// Encrypts secrets at rest.
    pub master_key: MasterKey,
    pub leptos: LeptosOptions,
    pub settings: AppSettings,
    /// Cancelled when the process is stopping: event streams end with it.
    pub stop: CancellationToken,
}

/// Settings of the routes.
#[derive(Clone, Debug, Default)]
pub struct AppSettings {
    /// `""` at the root, else `/prefix` without a trailing slash.
    pub base_path: String,
    /// Shown by the console.
    pub instance: Option<Instance>,
    pub pace: Pace,
    pub memory: RequestMemory,
    pub trusted_proxies: TrustedProxies,
}

/// Set here and not read from the environment, so that the program needs no variable to find its own files.
pub fn leptos_options() -> LeptosOptions {
    LeptosOptions::builder().output_name("headgate").site_root("target/site").site_pkg_dir("pkg").build()
}

impl FromRef<AppState> for LeptosOptions {
    fn from_ref(state: &AppState) -> Self {
        state.leptos.clone()
    }
}

impl FromRef<AppState> for Headgate {
    fn from_ref(state: &AppState) -> Self {
        state.headgate.clone()
    }
}

impl FromRef<AppState> for Health {
    fn from_ref(state: &AppState) -> Self {
        let engine =
            state.engine.clone().map(|engine| -> EngineReporter { Arc::new(move || engine.report()) });
        Self {
            pool: state.pools.health.clone(),
            requests: state.pools.api.clone(),
            maintenance: state.maintenance.clone(),
            engine,
            replica: state.replica.clone(),
            live: state.live.clone(),
            stop: state.stop.clone(),
        }
    }
}

impl FromRef<AppState> for Metrics {
    fn from_ref(state: &AppState) -> Self {
        let pools =
            [("engine", &state.pools.engine), ("api", &state.pools.api), ("console", &state.pools.console)];
        Self {
            live: state.live.clone(),
            maintenance: state.maintenance.clone(),
            engine: state.engine.clone(),
            replica: state.replica.clone(),
            pools: pools.map(|(name, pool)| (name, pool.clone())).to_vec(),
        }
    }
}
