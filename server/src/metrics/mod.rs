//! `/metrics` in Prometheus' text format: what the sampler keeps anyway, what this process's engine noted, and what the kernel knows.
//!
//! Nothing is asked of the database for a scrape. What is of the whole deployment (`deployment`, `integrations`) reads the same in every
//! process and comes from the snapshot in memory; what is of this process alone (`engine`, `process`) is to be added up. Labels are bounded
//! by the number of integrations, and that by `MOST_INTEGRATIONS`; the rest is in the totals. No names, which customers choose, only
//! ids. `server/METRICS.md` lists them all, and a test holds it to that.

mod deployment;
mod engine;
mod integrations;
mod process;
mod text;

use self::text::Text;
use crate::replica::Replica;
use axum::{
    Router,
    extract::{FromRef, State},
    http::header,
    response::IntoResponse,
    routing::get,
};
use insight::live::LiveHub;
use queue::{maintenance::MaintenanceHealth, worker::EngineWatch};
use sqlx::PgPool;

/// What is measured.
#[derive(Clone)]
pub struct Metrics {
    /// The newest snapshot and measures.
    pub live: LiveHub,
    /// The services of this process.
    pub maintenance: MaintenanceHealth,
    /// Its engine; none in a process that runs no jobs.
    pub engine: Option<EngineWatch>,
    /// What lists are read from, if that is another database.
    pub replica: Option<Replica>,
    /// Its connections, by what they are for.
    pub pools: Vec<(&'static str, PgPool)>,
}

/// The route.
pub fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Metrics: FromRef<S>,
{
    Router::new().route("/metrics", get(scrape))
}

async fn scrape(State(metrics): State<Metrics>) -> impl IntoResponse {
    let state = metrics.live.current();
    let mut text = Text::default();
    text.gauge("headgate_build_info", "The version that runs.", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    let age = state.age().map_or(f64::NAN, |age| age.as_secs_f64());
    text.gauge("headgate_snapshot_age_seconds", "How old the numbers of the whole deployment are.", &[], age);
    if let Some(snapshot) = &state.snapshot {
        deployment::gauges(&mut text, snapshot);
        integrations::gauges(&mut text, snapshot);
    }
    if let Some((_, measures)) = &state.measures {
        deployment::measures(&mut text, measures);
    }
    let is_leader = i32::from(metrics.maintenance.is_leader());
    text.gauge("headgate_is_leader", "Whether this process runs the maintenance.", &[], is_leader);
    if let Some(engine) = &metrics.engine {
        engine::report(&mut text, &engine.report());
    }
    engine::replica(&mut text, metrics.replica.as_ref());
    engine::pools(&mut text, &metrics.pools);
    process::gauges(&mut text);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text.into_string())
}
