//! `/healthz`: the process is up. `/readyz`: it can do its work, with each check named and said in words.
//!
//! Red (503) is only what is wrong with this process or keeps it from everything: a load balancer that takes it out must have a reason to
//! believe that another one does better. What is wrong with the deployment, wherever it is asked, makes the answer `degraded` (200): nobody
//! leads, the leader's services fail, the numbers are old. Taking every replica out for these would turn a bad hour into an outage.

use crate::replica::{Lag, Replica};
use axum::{
    Json, Router,
    extract::FromRef,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use insight::live::LiveHub;
use queue::{
    maintenance::MaintenanceHealth,
    migrate::{self, Schema},
    store::leader,
    worker::EngineReport,
};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use std::{collections::BTreeMap, fmt::Write as _, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// A database that takes longer does not count as there.
const PATIENCE: Duration = Duration::from_secs(2);
/// A leader that ended is replaced within some thirteen seconds; after this something keeps everybody from it.
const LEADERLESS: Duration = Duration::from_secs(30);
/// A snapshot is taken each second.
const STALE: Duration = Duration::from_secs(30);

/// Tells how the engine is doing.
pub type AskEngine = Arc<dyn Fn() -> EngineReport + Send + Sync>;

/// What the answers are made of.
#[derive(Clone)]
pub struct Health {
    /// Asked for a connection, which is tested before it is handed out. No request uses it: that they are many is no reason to be red.
    pub pool: PgPool,
    /// The services of this process.
    pub maintenance: MaintenanceHealth,
    /// The engine of this process; none when it runs no jobs.
    pub engine: Option<AskEngine>,
    /// What lists are read from, if that is another database.
    pub replica: Option<Replica>,
    /// The newest snapshot.
    pub live: LiveHub,
    /// Cancelled once the process is ending: no new work should come.
    pub stop: CancellationToken,
}

/// The answer of `/readyz`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readiness {
    /// `ready`, `degraded` (work goes on, somebody should look) or `not_ready`.
    pub status: String,
    /// Each check.
    pub checks: BTreeMap<String, Check>,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// How it came out.
    pub state: CheckState,
    /// In words.
    pub detail: String,
}

/// How a check came out, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// As it should be.
    Ok,
    /// Somebody should look; requests are answered and jobs run.
    Degraded,
    /// This process should get no requests.
    Failing,
}

impl Check {
    fn new(state: CheckState, detail: impl Into<String>) -> Self {
        Self { state, detail: detail.into() }
    }

    fn ok(detail: impl Into<String>) -> Self {
        Self::new(CheckState::Ok, detail)
    }

    fn degraded(detail: impl Into<String>) -> Self {
        Self::new(CheckState::Degraded, detail)
    }

    fn failing(detail: impl Into<String>) -> Self {
        Self::new(CheckState::Failing, detail)
    }
}

/// Both routes.
pub fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Health: FromRef<S>,
{
    Router::new().route("/healthz", get(async || "ok\n")).route("/readyz", get(readiness))
}

async fn readiness(State(health): State<Health>, headers: HeaderMap) -> Response {
    let readiness = health.readiness().await;
    let code = if readiness.status == "not_ready" { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    let no_store = [(header::CACHE_CONTROL, "no-store")];
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accept.starts_with("text/") {
        (code, no_store, readiness.in_words()).into_response()
    } else {
        (code, no_store, Json(readiness)).into_response()
    }
}

impl Readiness {
    fn of(checks: BTreeMap<String, Check>) -> Self {
        let status = match checks.values().map(|check| check.state).max() {
            Some(CheckState::Failing) => "not_ready",
            Some(CheckState::Degraded) => "degraded",
            Some(CheckState::Ok) | None => "ready",
        };
        Self { status: status.to_owned(), checks }
    }

    /// For people: a line a check.
    fn in_words(&self) -> String {
        let mut text = format!("{}\n", self.status);
        for (name, check) in &self.checks {
            let state = match check.state {
                CheckState::Ok => "ok",
                CheckState::Degraded => "degraded",
                CheckState::Failing => "failing",
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name}: {state}: {}", check.detail);
        }
        text
    }
}

fn behind(lag: Lag) -> Check {
    match (lag, lag.told_seconds()) {
        (Lag::Unknown, _) => Check::degraded("does not answer, or is another database's: lists fail"),
        (Lag::Of(_), Some(seconds)) => Check::degraded(format!("{seconds} s behind, and so are lists")),
        (Lag::Of(_), None) => Check::ok("keeps up"),
    }
}

impl Health {
    async fn readiness(&self) -> Readiness {
        let (database, migrations, leader) = self.database().await;
        let mut checks = vec![
            ("process", self.process()),
            ("database", database),
            ("migrations", migrations),
            ("engine", self.engine()),
            ("clock", self.clock()),
            ("leader", leader),
            ("maintenance", self.maintenance()),
            ("snapshot", self.snapshot()),
        ];
        checks.extend(self.replica.as_ref().map(|replica| ("replica", behind(replica.lag()))));
        Readiness::of(checks.into_iter().map(|(name, check)| (name.to_owned(), check)).collect())
    }

    fn process(&self) -> Check {
        if self.stop.is_cancelled() { Check::failing("stopping") } else { Check::ok("up") }
    }

    /// Database, migrations and leader: why one cannot be asked is for the log, because anybody may ask here.
    async fn database(&self) -> (Check, Check, Check) {
        let asked = async {
            let schema = migrate::schema(&self.pool).await?;
            let leaderless =
                if schema == Schema::Behind { None } else { Some(leader::absent_for(&self.pool).await?) };
            Ok::<_, queue::QueueError>((schema, leaderless))
        };
        let Ok(Ok((schema, leaderless))) = tokio::time::timeout(PATIENCE, asked).await else {
            let unknown = || Check::degraded("unknown while the database is away");
            return (Check::failing("cannot be reached"), unknown(), unknown());
        };
        let migrations = match schema {
            Schema::Current => Check::ok("applied"),
            Schema::Ahead => Check::ok("newer than this program: a rolling upgrade is under way"),
            Schema::Behind => Check::failing("not applied: run `headgate migrate`"),
        };
        let leader = match leaderless {
            Some(Some(absence)) if absence > LEADERLESS => Check::degraded(format!(
                "no process has led the maintenance for {} s: retries, counters and retention stand still",
                absence.as_secs()
            )),
            Some(_) if self.maintenance.is_leader() => Check::ok("this process leads"),
            Some(Some(_)) => Check::ok("about to be replaced"),
            Some(None) => Check::ok("another process leads"),
            None => Check::degraded("unknown before the migrations are applied"),
        };
        (Check::ok("answers"), migrations, leader)
    }

    fn engine(&self) -> Check {
        let Some(engine) = &self.engine else { return Check::ok("runs no jobs") };
        let report = engine();
        match report.trouble() {
            Some(trouble) => Check::failing(trouble),
            None if report.is_draining => Check::ok("claims nothing more: an operator asked it to drain"),
            None if !report.is_registered => Check::ok("about to register"),
            None => Check::ok(format!("{} of {} slots busy", report.running, report.slots)),
        }
    }

    fn clock(&self) -> Check {
        let report = self.engine.as_ref().map(|engine| engine());
        match report.as_ref().map(EngineReport::clock_skew) {
            None => Check::ok("runs no jobs: signs nothing"),
            Some(None) => Check::ok("shows the database's time"),
            Some(Some(skew)) => Check::degraded(skew),
        }
    }

    /// The leader's services as it tells them, and what this process saw while it led.
    fn maintenance(&self) -> Check {
        let state = self.live.current();
        let told = state.measures.iter().flat_map(|(_, measures)| &measures.services);
        let mut failing: Vec<String> =
            told.filter(|service| !service.is_healthy).map(|service| service.name.clone()).collect();
        let own = self.maintenance.services();
        failing.extend(
            own.iter().filter(|service| !service.is_healthy()).map(|service| service.name.to_owned()),
        );
        failing.sort();
        failing.dedup();
        if failing.is_empty() {
            Check::ok("no service fails")
        } else {
            Check::degraded(format!("fails again and again: {}", failing.join(", ")))
        }
    }

    fn snapshot(&self) -> Check {
        match self.live.current().age() {
            None => Check::degraded("none yet: live numbers are missing"),
            Some(age) if age > STALE => {
                Check::degraded(format!("{} s old: live numbers stand still", age.as_secs()))
            }
            Some(_) => Check::ok("fresh"),
        }
    }
}
