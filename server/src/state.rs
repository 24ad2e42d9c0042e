//! What every route can reach.

use crate::{
    health::{EngineReporter, Health},
    metrics::Metrics,
    middleware::{Pace, RequestMemory, TrustedProxies},
    replica::Replica,
};
use access::Access;
use axum::extract::FromRef;
use delivery::{Delivery, MasterKey};
use insight::live::LiveHub;
use leptos::config::LeptosOptions;
use model::retention::Retentions;
use queue::{maintenance::MaintenanceHealth, worker::EngineWatch};
use sqlx::PgPool;
use std::{ops::Deref, sync::Arc};
use steering::{AuditActions, Steering};
use tokio_util::sync::CancellationToken;

/// The parts of the program, shared by all requests: each layer and handler takes one, so that it must cost nothing.
#[derive(Clone)]
pub struct AppState(Arc<Parts>);

impl AppState {
    /// Put together once.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// The same parts for one call, whatever they do for it by this pool.
    pub(crate) fn with_pool(&self, pool: &PgPool) -> Self {
        Self::new(Parts {
            delivery: self.delivery.clone().with_pool(pool.clone()),
            access: self.access.clone().with_pool(pool.clone()),
            pool: pool.clone(),
            console_pool: pool.clone(),
            ..Parts::clone(self)
        })
    }
}

impl Deref for AppState {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// The parts of the program.
#[derive(Clone)]
pub struct Parts {
    /// Integrations, records, events.
    pub delivery: Delivery,
    /// Users, sessions, keys.
    pub access: Access,
    /// Decides and writes.
    pub pool: PgPool,
    /// Lists and searches: its statements are cut off after a few seconds, and a replica may answer.
    pub console_pool: PgPool,
    /// Runs jobs; requests leave it alone.
    pub engine_pool: PgPool,
    /// One connection that requests leave alone: asks whether the database answers.
    pub health_pool: PgPool,
    /// The replica behind `console_pool`, if there is one.
    pub replica: Option<Replica>,
    /// The newest gauges.
    pub live: LiveHub,
    /// The services of this process.
    pub maintenance: MaintenanceHealth,
    /// Its engine; none when it runs no jobs.
    pub engine: Option<EngineWatch>,
    /// Seals what must not be read from the database alone.
    pub master_key: MasterKey,
    /// How pages name their files.
    pub leptos: LeptosOptions,
    /// What does not change while the program runs.
    pub settings: AppSettings,
    /// Cancelled when the program is ending: streams end with it.
    pub stop: CancellationToken,
}

impl Parts {
    /// Integrations, records and the like as lists: never for a decision, because a replica may answer.
    pub fn lists(&self) -> Delivery {
        self.delivery.clone().with_pool(self.console_pool.clone())
    }

    /// Users and keys as lists: as those.
    pub fn access_lists(&self) -> Access {
        self.access.clone().with_pool(self.console_pool.clone())
    }

    /// Seconds by which lists are behind, where it is so much that it is told.
    pub fn lists_behind(&self) -> Option<i64> {
        self.replica.as_ref().and_then(|replica| replica.lag().reportable_seconds())
    }

    /// What changes apps, integrations, jobs, with a line of the audit log each.
    pub fn steering(&self) -> Steering {
        Steering::new(self.delivery.clone())
    }

    /// The audit log's lines, to act from.
    pub fn audit_actions(&self) -> AuditActions {
        AuditActions::new(self.steering(), self.access.clone())
    }
}

/// What does not change while the program runs.
#[derive(Clone, Debug, Default)]
pub struct AppSettings {
    /// `""` at the root, else `/prefix` without a slash at its end.
    pub base_path: String,
    /// How long things are kept.
    pub retentions: Retentions,
    /// How slow the body of a request may be.
    pub pace: Pace,
    /// What requests may take in memory together.
    pub memory: RequestMemory,
    /// Whose word on the client's address counts.
    pub trusted_proxies: TrustedProxies,
}

/// Built here and not from the environment: the program needs no variable to find its own files.
pub fn leptos_options() -> LeptosOptions {
    LeptosOptions::builder().output_name("headgate").site_root("target/site").site_pkg_dir("pkg").build()
}

impl FromRef<AppState> for LeptosOptions {
    fn from_ref(state: &AppState) -> Self {
        state.leptos.clone()
    }
}

impl FromRef<AppState> for Health {
    fn from_ref(state: &AppState) -> Self {
        let engine =
            state.engine.clone().map(|engine| -> EngineReporter { Arc::new(move || engine.report()) });
        Self {
            pool: state.health_pool.clone(),
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
        let pools = [("engine", &state.engine_pool), ("api", &state.pool), ("console", &state.console_pool)];
        Self {
            live: state.live.clone(),
            maintenance: state.maintenance.clone(),
            engine: state.engine.clone(),
            replica: state.replica.clone(),
            pools: pools.map(|(name, pool)| (name, pool.clone())).to_vec(),
        }
    }
}
