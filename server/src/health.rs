//! `/healthz`: the process is up. `/readyz`: it can do its work, with each check named and described.
//!
//! Not ready (503) is only what is wrong with this process or keeps it from all work: a load balancer that takes it out must have a reason to
//! believe that another process does better. Problems of the whole deployment make the answer `degraded` (200): there is no leader, the leader's
//! services fail, the numbers are old. Taking every process out for these would turn a degraded hour into an outage.

use crate::replica::{Lag, Replica};
use axum::extract::{FromRef, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use futures::{FutureExt as _, future::select_ok};
use insight::live::LiveHub;
use queue::maintenance::MaintenanceHealth;
use queue::store::leader;
use queue::store::schema::{self, Schema};
use queue::worker::EngineReport;
use serde::{Deserialize, Serialize};
use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres};
use std::{collections::BTreeMap, fmt::Write as _, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// A database that takes longer counts as unreachable.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the check waits for a connection of its own before it asks for one of those that serve requests.
const OWN_CONNECTION_TIMEOUT: Duration = Duration::from_millis(250);
/// A leader that ended is replaced within some thirteen seconds; after this time something prevents it.
const MAX_LEADER_ABSENCE: Duration = Duration::from_secs(30);
/// A snapshot is taken every second.
const MAX_SNAPSHOT_AGE: Duration = Duration::from_secs(30);

pub type EngineReporter = Arc<dyn Fn() -> EngineReport + Send + Sync>;

/// What the checks read.
#[derive(Clone)]
pub struct Health {
    /// Its connections are tested before they are handed out. No request uses this pool, so that many requests do not make the process not ready.
    pub pool: PgPool,
    /// The connections that serve requests: they go on when Postgres accepts no further ones.
    pub requests: PgPool,
    pub maintenance: MaintenanceHealth,
    /// `None` when this process runs no jobs.
    pub engine: Option<EngineReporter>,
    /// The replica that lists are read from, if there is one.
    pub replica: Option<Replica>,
    pub live: LiveHub,
    /// Cancelled once the process is stopping.
    pub stop: CancellationToken,
}

/// The answer of `/readyz`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readiness {
    /// `ready`, `degraded` (work goes on, but somebody should look into it) or `not_ready`.
    pub status: String,
    pub checks: BTreeMap<String, Check>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub state: CheckState,
    pub detail: String,
}

/// The result of a check, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    Ok,
    /// Somebody should look into it; requests are answered and jobs run.
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

    /// For people: one line per check.
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
    match (lag, lag.reportable_seconds()) {
        (Lag::Unknown, _) => {
            Check::degraded("does not answer, or is a replica of another database: lists fail")
        }
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

    /// Database, migrations and leader. The causes of failures are not shown, because this endpoint is open to anybody.
    async fn database(&self) -> (Check, Check, Check) {
        let asked = async {
            let mut connection = self.connection().await?;
            let schema = schema::migrations(&mut connection).await?.schema();
            let leaderless = if schema == Schema::Behind {
                None
            } else {
                Some(leader::absent_for(&mut *connection).await?)
            };
            Ok::<_, queue::QueueError>((schema, leaderless))
        };
        let Ok(Ok((schema, leaderless))) = tokio::time::timeout(DATABASE_TIMEOUT, asked).await else {
            let unknown = || Check::degraded("unknown while the database is away");
            return (Check::failing("cannot be reached"), unknown(), unknown());
        };
        let migrations = match schema {
            Schema::Current => Check::ok("applied"),
            Schema::Ahead => Check::ok("newer than this program: a rolling upgrade is under way"),
            Schema::Behind => Check::failing("not applied: run `headgate migrate`"),
        };
        let leader = match leaderless {
            Some(Some(absence)) if absence > MAX_LEADER_ABSENCE => Check::degraded(format!(
                "no process has been leader for {} s: retries, counters and retention stand still",
                absence.as_secs()
            )),
            Some(_) if self.maintenance.is_leader() => Check::ok("this process is the leader"),
            Some(Some(_)) => Check::ok("about to be replaced"),
            Some(None) => Check::ok("another process is the leader"),
            None => Check::degraded("unknown until the migrations are applied"),
        };
        (Check::ok("answers"), migrations, leader)
    }

    /// A connection of the check's own pool, or, if that gets none, one of those that serve requests.
    async fn connection(&self) -> Result<PoolConnection<Postgres>, sqlx::Error> {
        let of_requests = async {
            tokio::time::sleep(OWN_CONNECTION_TIMEOUT).await;
            self.requests.acquire().await
        };
        let (connection, _) = select_ok([self.pool.acquire().boxed(), of_requests.boxed()]).await?;
        Ok(connection)
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
            None => Check::ok("runs no jobs, so it signs nothing"),
            Some(None) => Check::ok("agrees with the database's"),
            Some(Some(skew)) => Check::degraded(skew),
        }
    }

    /// The services as the leader reports them, and as this process saw them while it was the leader.
    fn maintenance(&self) -> Check {
        let state = self.live.current();
        let reported = state.measures.iter().flat_map(|(_, measures)| &measures.services);
        let mut failing: Vec<String> =
            reported.filter(|service| !service.is_healthy).map(|service| service.name.clone()).collect();
        let own = self.maintenance.services();
        failing.extend(
            own.iter().filter(|service| !service.is_healthy()).map(|service| service.name.to_owned()),
        );
        failing.sort();
        failing.dedup();
        if failing.is_empty() {
            Check::ok("no service fails")
        } else {
            Check::degraded(format!("fails repeatedly: {}", failing.join(", ")))
        }
    }

    fn snapshot(&self) -> Check {
        match self.live.current().age() {
            None => Check::degraded("none yet: live numbers are missing"),
            Some(age) if age > MAX_SNAPSHOT_AGE => {
                Check::degraded(format!("{} s old: live numbers stand still", age.as_secs()))
            }
            Some(_) => Check::ok("fresh"),
        }
    }
}
