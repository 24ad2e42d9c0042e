//! `/healthz`: the process is up. `/readyz`: it can do its work, with each check named.

use axum::{
    Json, Router, extract::FromRef, extract::State, http::StatusCode, response::IntoResponse, routing::get,
};
use queue::maintenance::MaintenanceHealth;
use serde::Serialize;
use sqlx::PgPool;
use std::{collections::BTreeMap, time::Duration};
use tokio_util::sync::CancellationToken;

/// A database that takes longer does not count as there.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the answers are made of.
#[derive(Clone)]
pub struct Health {
    /// Asked for a connection, which is tested before it is handed out.
    pub pool: PgPool,
    /// The services of this process.
    pub maintenance: MaintenanceHealth,
    /// Cancelled once the process is ending: no new work should come.
    pub stop: CancellationToken,
}

#[derive(Serialize)]
struct Readiness {
    status: &'static str,
    checks: BTreeMap<&'static str, String>,
}

const OK: &str = "ok";

/// Both routes.
pub fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Health: FromRef<S>,
{
    Router::new().route("/healthz", get(async || "ok\n")).route("/readyz", get(readiness))
}

async fn readiness(State(health): State<Health>) -> impl IntoResponse {
    let mut checks = BTreeMap::new();
    checks.insert("process", if health.stop.is_cancelled() { "stopping".to_owned() } else { OK.to_owned() });
    let migrations = tokio::time::timeout(PATIENCE, queue::migrate::is_up_to_date(&health.pool)).await;
    let (database, migrations) = match migrations {
        Ok(Ok(true)) => (OK, OK),
        Ok(Ok(false)) => (OK, "not applied: run `headgate migrate`"),
        // Why is for the log; anybody may ask here.
        Ok(Err(_)) | Err(_) => ("cannot be reached", "unknown"),
    };
    checks.insert("database", database.to_owned());
    checks.insert("migrations", migrations.to_owned());
    let failing: Vec<&str> = health
        .maintenance
        .services()
        .iter()
        .filter(|service| !service.is_healthy())
        .map(|service| service.name)
        .collect();
    let maintenance =
        if failing.is_empty() { OK.to_owned() } else { format!("failing: {}", failing.join(", ")) };
    checks.insert("maintenance", maintenance);
    let is_ready = checks.values().all(|check| check == OK);
    let (code, status) =
        if is_ready { (StatusCode::OK, "ready") } else { (StatusCode::SERVICE_UNAVAILABLE, "not_ready") };
    (code, [("cache-control", "no-store")], Json(Readiness { status, checks }))
}
