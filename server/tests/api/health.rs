//! `/readyz` over HTTP: not ready for problems of this process, degraded for problems of the deployment, with the reason.

use chrono::Utc;
use insight::live::LiveHub;
use insight::store::stats::{Measures, ServiceState, live_snapshots};
use queue::EngineConfig;
use queue::maintenance::{Maintenance, MaintenanceHealth};
use queue::worker::EngineReport;
use server::health::{self, Check, CheckState, Health, Readiness};
use sqlx::{PgPool, postgres::PgPoolOptions};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

/// The two routes on a port, without maintenance or anything else.
struct Process {
    address: SocketAddr,
    stop: CancellationToken,
    live: LiveHub,
    _end: DropGuard,
}

impl Process {
    async fn start(pool: &PgPool, engine: Option<EngineReport>) -> Self {
        Self::start_with(pool, pool, engine).await
    }

    /// With a pool of its own for the check.
    async fn start_with(pool: &PgPool, own: &PgPool, engine: Option<EngineReport>) -> Self {
        let end = CancellationToken::new();
        let (stop, live) = (CancellationToken::new(), LiveHub::start(pool.clone(), end.clone()));
        let health = Health {
            pool: own.clone(),
            requests: pool.clone(),
            maintenance: without_leader(pool),
            engine: engine.map(|report| -> health::EngineReporter { Arc::new(move || report.clone()) }),
            replica: None,
            live: live.clone(),
            stop: stop.clone(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = health::routes::<Health>().with_state(health);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, stop, live, _end: end.drop_guard() }
    }

    async fn get(&self, path: &str, accept: &str) -> (u16, String) {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = client.get(format!("http://{}{path}", self.address)).header("accept", accept);
        let response = request.send().await.unwrap();
        assert!(path == "/healthz" || response.headers()["cache-control"] == "no-store");
        (response.status().as_u16(), response.text().await.unwrap())
    }

    async fn readiness(&self) -> (u16, Readiness) {
        let (code, body) = self.get("/readyz", "*/*").await;
        (code, serde_json::from_str(&body).unwrap())
    }

    /// Expects this state and these words of the check, and all others to be ok.
    async fn assert_check(&self, name: &str, state: CheckState, words: &str) {
        let (code, readiness) = self.readiness().await;
        let Check { state: found, detail } = &readiness.checks[name];
        assert_eq!(*found, state, "{readiness:?}");
        assert!(detail.contains(words), "{detail}");
        let status = match state {
            CheckState::Ok => "ready",
            CheckState::Degraded => "degraded",
            CheckState::Failing => "not_ready",
        };
        let expected = if state == CheckState::Failing { 503 } else { 200 };
        assert_eq!((code, readiness.status.as_str()), (expected, status), "{readiness:?}");
        let others = readiness.checks.iter().filter(|(other, _)| *other != name);
        for (other, check) in others {
            assert_eq!(check.state, CheckState::Ok, "{other}: {}", check.detail);
        }
    }
}

/// The health of a maintenance that was stopped before it began.
fn without_leader(pool: &PgPool) -> MaintenanceHealth {
    let ended = CancellationToken::new();
    ended.cancel();
    Maintenance::start(pool.clone(), EngineConfig::default(), Vec::new(), None, ended).watch()
}

async fn run(pool: &PgPool, sql: &'static str) {
    sqlx::raw_sql(sql).execute(pool).await.unwrap();
}

/// A deployment with a leader and a snapshot.
async fn a_healthy_deployment(pool: &PgPool, measures: &Measures) {
    run(
        pool,
        "insert into headgate.leader values (true, gen_random_uuid(), 1, 1000, clock_timestamp() + interval '1 hour')",
    )
    .await;
    sampled(pool, measures, 0).await;
}

async fn sampled(pool: &PgPool, measures: &Measures, seconds_ago: i64) {
    let snapshot = insight::store::stats::snapshot(pool).await.unwrap();
    let snapshot =
        model::stats::Snapshot { at: Utc::now() - chrono::TimeDelta::seconds(seconds_ago), ..snapshot };
    sqlx::query("insert into headgate.live_snapshots (at, body, measures) values ($1, $2, $3)")
        .bind(snapshot.at)
        .bind(serde_json::to_value(&snapshot).unwrap())
        .bind(serde_json::to_value(measures).unwrap())
        .execute(pool)
        .await
        .unwrap();
    assert!(live_snapshots::newest(pool, None, None).await.unwrap().is_some());
}

/// A process whose hub has read the snapshot.
async fn a_process(pool: &PgPool, engine: Option<EngineReport>) -> Process {
    let process = Process::start(pool, engine).await;
    let mut changes = process.live.subscribe();
    changes.wait_for(|state| state.snapshot.is_some()).await.unwrap();
    process
}

fn healthy() -> EngineReport {
    EngineReport { slots: 10, running: 3, is_registered: true, ..EngineReport::default() }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_process_that_can_work_is_ready_and_lists_its_checks(pool: PgPool) {
    a_healthy_deployment(&pool, &Measures::default()).await;
    let process = a_process(&pool, Some(healthy())).await;
    process.assert_check("engine", CheckState::Ok, "3 of 10 slots busy").await;
    process.assert_check("leader", CheckState::Ok, "another process is the leader").await;
    let (_, readiness) = process.readiness().await;
    let names: Vec<&str> = readiness.checks.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["clock", "database", "engine", "leader", "maintenance", "migrations", "process", "snapshot"]
    );
    let (code, words) = process.get("/readyz", "text/html,application/xhtml+xml").await;
    assert_eq!(code, 200);
    assert!(
        words.starts_with("ready\nclock: ok: agrees with the database's\ndatabase: ok: answers\n"),
        "{words}"
    );
    assert_eq!(process.get("/healthz", "*/*").await, (200, "ok\n".to_owned()));
    let idle = a_process(&pool, None).await;
    idle.assert_check("engine", CheckState::Ok, "runs no jobs").await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_host_with_clock_skew_is_degraded(pool: PgPool) {
    a_healthy_deployment(&pool, &Measures::default()).await;
    for (ahead, state, words) in [
        (1_999, CheckState::Ok, "agrees with the database's"),
        (2_000, CheckState::Degraded, "2 s ahead of the database's"),
        (-3_600_000, CheckState::Degraded, "3600 s behind the database's"),
    ] {
        let report = EngineReport { clock_ahead: chrono::TimeDelta::milliseconds(ahead), ..healthy() };
        a_process(&pool, Some(report)).await.assert_check("clock", state, words).await;
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_stopping_process_is_not_ready_but_healthy(pool: PgPool) {
    a_healthy_deployment(&pool, &Measures::default()).await;
    let process = a_process(&pool, Some(healthy())).await;
    process.stop.cancel();
    process.assert_check("process", CheckState::Failing, "stopping").await;
    assert_eq!(process.get("/healthz", "*/*").await.0, 200);
}

/// A pool that gets no connection, as when Postgres is full: sqlx repeats a connection that is refused just the same.
fn without_connections() -> PgPool {
    PgPoolOptions::new()
        .acquire_timeout(Duration::from_secs(1))
        .connect_lazy("postgres://nobody@127.0.0.1:1/nothing")
        .unwrap()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_process_that_gets_no_further_connection_is_ready_while_it_has_some(pool: PgPool) {
    a_healthy_deployment(&pool, &Measures::default()).await;
    let process = Process::start_with(&pool, &without_connections(), Some(healthy())).await;
    let mut changes = process.live.subscribe();
    changes.wait_for(|state| state.snapshot.is_some()).await.unwrap();
    process.assert_check("database", CheckState::Ok, "answers").await;
}

#[tokio::test]
async fn without_database_it_is_not_ready_and_hides_the_address() {
    let nowhere = without_connections();
    let process = Process::start(&nowhere, Some(healthy())).await;
    let (code, readiness) = process.readiness().await;
    assert_eq!((code, readiness.status.as_str()), (503, "not_ready"));
    assert_eq!(readiness.checks["database"].state, CheckState::Failing);
    assert_eq!(readiness.checks["engine"].state, CheckState::Ok);
    let (_, words) = process.get("/readyz", "text/plain").await;
    assert!(
        words.contains("database: failing: cannot be reached") && !words.contains("127.0.0.1"),
        "{words}"
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn missing_migrations_are_not_ready_and_newer_ones_are(pool: PgPool) {
    a_healthy_deployment(&pool, &Measures::default()).await;
    let process = a_process(&pool, None).await;
    run(&pool, "insert into _sqlx_migrations (version, description, success, checksum, execution_time) values (9999, 'tomorrow', true, '', 0)").await;
    process.assert_check("migrations", CheckState::Ok, "newer than this program").await;
    run(&pool, "delete from _sqlx_migrations where version > 3").await;
    let (code, readiness) = process.readiness().await;
    assert_eq!(code, 503);
    assert!(readiness.checks["migrations"].detail.contains("headgate migrate"));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_stuck_engine_is_not_ready(pool: PgPool) {
    a_healthy_deployment(&pool, &Measures::default()).await;
    let long = Duration::from_secs(600);
    for (report, words) in [
        (
            EngineReport { is_registered: false, unregistered_for: long, ..healthy() },
            "holds no lease for 600 s",
        ),
        (EngineReport { claimer_silent_for: long, ..healthy() }, "has not asked for jobs"),
        (
            EngineReport { unrecorded: 7, unrecorded_for: long, ..healthy() },
            "7 results have not been recorded",
        ),
        (EngineReport { stuck: Some("claims"), ..healthy() }, "claims has stopped"),
    ] {
        a_process(&pool, Some(report)).await.assert_check("engine", CheckState::Failing, words).await;
    }
    let draining = EngineReport { is_draining: true, ..healthy() };
    a_process(&pool, Some(draining)).await.assert_check("engine", CheckState::Ok, "drain").await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn problems_of_the_deployment_are_only_degraded(pool: PgPool) {
    let failing = ServiceState { name: "sample".into(), failures_in_a_row: 9, ..ServiceState::default() };
    let measures = Measures { services: vec![failing], ..Measures::default() };
    a_healthy_deployment(&pool, &measures).await;
    let process = a_process(&pool, Some(healthy())).await;
    process.assert_check("maintenance", CheckState::Degraded, "sample").await;

    run(&pool, "truncate headgate.live_snapshots").await;
    sampled(&pool, &Measures::default(), 0).await;
    let process = a_process(&pool, Some(healthy())).await;
    run(&pool, "update headgate.leader set expires_at = clock_timestamp() - interval '20 seconds'").await;
    process.assert_check("leader", CheckState::Ok, "about to be replaced").await;
    run(&pool, "update headgate.leader set expires_at = clock_timestamp() - interval '40 seconds'").await;
    process.assert_check("leader", CheckState::Degraded, "no process has been leader").await;
    run(&pool, "update headgate.leader set expires_at = clock_timestamp() + interval '1 hour'").await;

    run(&pool, "truncate headgate.live_snapshots").await;
    sampled(&pool, &Measures::default(), 60).await;
    a_process(&pool, Some(healthy()))
        .await
        .assert_check("snapshot", CheckState::Degraded, "live numbers stand still")
        .await;
    run(&pool, "truncate headgate.live_snapshots").await;
    Process::start(&pool, Some(healthy()))
        .await
        .assert_check("snapshot", CheckState::Degraded, "none yet")
        .await;
}
