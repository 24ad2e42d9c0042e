//! `/readyz` over real HTTP: red for what is wrong with this process, degraded for what is wrong with the deployment, and why.

use chrono::Utc;
use insight::{
    live::LiveHub,
    store::stats::{Measures, ServiceState, live_snapshots},
};
use queue::{
    EngineConfig,
    maintenance::{Maintenance, MaintenanceHealth},
    worker::EngineReport,
};
use server::health::{self, Check, CheckState, Health, Readiness};
use sqlx::{PgPool, postgres::PgPoolOptions};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

/// The two routes on a port; no maintenance runs, and nothing else.
struct Machine {
    address: SocketAddr,
    stop: CancellationToken,
    live: LiveHub,
    _end: DropGuard,
}

impl Machine {
    async fn start(pool: &PgPool, engine: Option<EngineReport>) -> Self {
        let end = CancellationToken::new();
        let (stop, live) = (CancellationToken::new(), LiveHub::start(pool.clone(), end.clone()));
        let health = Health {
            pool: pool.clone(),
            maintenance: nobody_leads(pool),
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

    /// Everything is well but this check, which comes out so and says so.
    async fn says(&self, name: &str, state: CheckState, words: &str) {
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

/// Of a maintenance that was told to end before it began.
fn nobody_leads(pool: &PgPool) -> MaintenanceHealth {
    let ended = CancellationToken::new();
    ended.cancel();
    Maintenance::start(pool.clone(), EngineConfig::default(), Vec::new(), ended).watch()
}

async fn run(pool: &PgPool, sql: &'static str) {
    sqlx::raw_sql(sql).execute(pool).await.unwrap();
}

/// A deployment in which somebody leads and samples.
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

/// A process whose hub has read what was sampled.
async fn a_machine(pool: &PgPool, engine: Option<EngineReport>) -> Machine {
    let machine = Machine::start(pool, engine).await;
    let mut changes = machine.live.subscribe();
    changes.wait_for(|state| state.snapshot.is_some()).await.unwrap();
    machine
}

fn well() -> EngineReport {
    EngineReport { slots: 10, running: 3, is_registered: true, ..EngineReport::default() }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_process_that_can_work_is_ready_and_says_what_was_looked_at(pool: PgPool) {
    a_healthy_deployment(&pool, &Measures::default()).await;
    let machine = a_machine(&pool, Some(well())).await;
    machine.says("engine", CheckState::Ok, "3 of 10 slots busy").await;
    machine.says("leader", CheckState::Ok, "another process is the leader").await;
    let (_, readiness) = machine.readiness().await;
    let names: Vec<&str> = readiness.checks.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["clock", "database", "engine", "leader", "maintenance", "migrations", "process", "snapshot"]
    );
    let (code, words) = machine.get("/readyz", "text/html,application/xhtml+xml").await;
    assert_eq!(code, 200);
    assert!(
        words.starts_with("ready\nclock: ok: agrees with the database's\ndatabase: ok: answers\n"),
        "{words}"
    );
    assert_eq!(machine.get("/healthz", "*/*").await, (200, "ok\n".to_owned()));
    let idle = a_machine(&pool, None).await;
    idle.says("engine", CheckState::Ok, "runs no jobs").await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_host_whose_clock_is_off_is_degraded_and_told(pool: PgPool) {
    a_healthy_deployment(&pool, &Measures::default()).await;
    for (ahead, state, words) in [
        (1_999, CheckState::Ok, "agrees with the database's"),
        (2_000, CheckState::Degraded, "2 s ahead of the database's"),
        (-3_600_000, CheckState::Degraded, "3600 s behind the database's"),
    ] {
        let report = EngineReport { clock_ahead: chrono::TimeDelta::milliseconds(ahead), ..well() };
        a_machine(&pool, Some(report)).await.says("clock", state, words).await;
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_process_that_ends_is_red_and_still_healthy(pool: PgPool) {
    a_healthy_deployment(&pool, &Measures::default()).await;
    let machine = a_machine(&pool, Some(well())).await;
    machine.stop.cancel();
    machine.says("process", CheckState::Failing, "stopping").await;
    assert_eq!(machine.get("/healthz", "*/*").await.0, 200);
}

#[tokio::test]
async fn a_database_that_is_away_is_red_and_tells_nobody_where_it_was() {
    let nowhere = PgPoolOptions::new()
        .acquire_timeout(Duration::from_secs(1))
        .connect_lazy("postgres://nobody@127.0.0.1:1/nothing")
        .unwrap();
    let machine = Machine::start(&nowhere, Some(well())).await;
    let (code, readiness) = machine.readiness().await;
    assert_eq!((code, readiness.status.as_str()), (503, "not_ready"));
    assert_eq!(readiness.checks["database"].state, CheckState::Failing);
    assert_eq!(readiness.checks["engine"].state, CheckState::Ok);
    let (_, words) = machine.get("/readyz", "text/plain").await;
    assert!(
        words.contains("database: failing: cannot be reached") && !words.contains("127.0.0.1"),
        "{words}"
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn migrations_that_are_missing_are_red_and_newer_ones_are_not(pool: PgPool) {
    a_healthy_deployment(&pool, &Measures::default()).await;
    let machine = a_machine(&pool, None).await;
    run(&pool, "insert into _sqlx_migrations (version, description, success, checksum, execution_time) values (9999, 'tomorrow', true, '', 0)").await;
    machine.says("migrations", CheckState::Ok, "newer than this program").await;
    run(&pool, "delete from _sqlx_migrations where version > 3").await;
    let (code, readiness) = machine.readiness().await;
    assert_eq!(code, 503);
    assert!(readiness.checks["migrations"].detail.contains("headgate migrate"));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_engine_that_should_work_and_does_not_is_red(pool: PgPool) {
    a_healthy_deployment(&pool, &Measures::default()).await;
    let long = Duration::from_secs(600);
    for (report, words) in [
        (EngineReport { is_registered: false, unregistered_for: long, ..well() }, "holds no lease for 600 s"),
        (EngineReport { claimer_silent_for: long, ..well() }, "has not asked for jobs"),
        (EngineReport { unrecorded: 7, unrecorded_for: long, ..well() }, "7 results have not been recorded"),
        (EngineReport { stuck: Some("claims"), ..well() }, "claims has stopped"),
    ] {
        a_machine(&pool, Some(report)).await.says("engine", CheckState::Failing, words).await;
    }
    let draining = EngineReport { is_draining: true, ..well() };
    a_machine(&pool, Some(draining)).await.says("engine", CheckState::Ok, "drain").await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_is_wrong_with_the_deployment_takes_no_replica_out(pool: PgPool) {
    let failing = ServiceState { name: "sample".into(), failures_in_a_row: 9, ..ServiceState::default() };
    let measures = Measures { services: vec![failing], ..Measures::default() };
    a_healthy_deployment(&pool, &measures).await;
    let machine = a_machine(&pool, Some(well())).await;
    machine.says("maintenance", CheckState::Degraded, "sample").await;

    run(&pool, "truncate headgate.live_snapshots").await;
    sampled(&pool, &Measures::default(), 0).await;
    let machine = a_machine(&pool, Some(well())).await;
    run(&pool, "update headgate.leader set expires_at = clock_timestamp() - interval '20 seconds'").await;
    machine.says("leader", CheckState::Ok, "about to be replaced").await;
    run(&pool, "update headgate.leader set expires_at = clock_timestamp() - interval '40 seconds'").await;
    machine.says("leader", CheckState::Degraded, "no process has led").await;
    run(&pool, "update headgate.leader set expires_at = clock_timestamp() + interval '1 hour'").await;

    run(&pool, "truncate headgate.live_snapshots").await;
    sampled(&pool, &Measures::default(), 60).await;
    a_machine(&pool, Some(well()))
        .await
        .says("snapshot", CheckState::Degraded, "live numbers stand still")
        .await;
    run(&pool, "truncate headgate.live_snapshots").await;
    Machine::start(&pool, Some(well())).await.says("snapshot", CheckState::Degraded, "none yet").await;
}
