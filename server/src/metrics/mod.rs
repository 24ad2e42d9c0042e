//! `/metrics` in Prometheus' text format: the sampler's snapshot, this process's engine, and what the kernel knows of the process.
//!
//! A scrape does not query the database. Metrics of the whole deployment (`deployment`, `integrations`) come from the snapshot in memory and are
//! the same in every process; those of this process (`engine`, `process`) are to be summed. Labels are bounded by the number of integrations, and
//! that by `MAX_INTEGRATIONS`; the rest is in the totals. Labels are ids, not names, which users choose. `server/METRICS.md` lists all metrics,
//! which a test checks.

mod deployment;
mod engine;
mod integrations;
mod process;
mod text;

use self::text::Text;
use crate::replica::Replica;
use axum::Router;
use axum::extract::{FromRef, State};
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use insight::live::LiveHub;
use queue::{maintenance::MaintenanceHealth, worker::EngineWatch};
use sqlx::PgPool;

/// What a scrape reads.
#[derive(Clone)]
pub struct Metrics {
    pub live: LiveHub,
    pub maintenance: MaintenanceHealth,
    /// `None` in a process that runs no jobs.
    pub engine: Option<EngineWatch>,
    /// The replica that lists are read from, if there is one.
    pub replica: Option<Replica>,
    /// The pools of connections by name.
    pub pools: Vec<(&'static str, PgPool)>,
}

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
    text.gauge("headgate_snapshot_age_seconds", "Age of the numbers of the whole deployment.", &[], age);
    if let Some(snapshot) = &state.snapshot {
        deployment::gauges(&mut text, snapshot);
        integrations::gauges(&mut text, snapshot);
    }
    if let Some((_, measures)) = &state.measures {
        deployment::measures(&mut text, measures);
    }
    let is_leader = i32::from(metrics.maintenance.is_leader());
    text.gauge(
        "headgate_is_leader",
        "Whether this process is the leader, which runs the maintenance.",
        &[],
        is_leader,
    );
    if let Some(engine) = &metrics.engine {
        engine::report(&mut text, &engine.report());
    }
    engine::replica(&mut text, metrics.replica.as_ref());
    engine::pools(&mut text, &metrics.pools);
    process::gauges(&mut text);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text.into_string())
}
