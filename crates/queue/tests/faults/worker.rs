//! A worker process: an engine and maintenance, as the program runs them, with a handler that records what it does.

use crate::support::{Recorder, WORKER_OPTIONS, WorkerOptions};
use async_trait::async_trait;
use queue::maintenance::{Maintenance, Service};
use queue::pool::PoolSettings;
use queue::store::leader::{self, Term};
use queue::worker::{Engine, Handlers};
use queue::{EngineConfig, QueueError};
use sqlx::PgPool;
use std::{io::BufRead as _, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// Exit code of a worker whose watchdog found that a loop has stopped.
pub(crate) const STUCK: i32 = 70;

#[test]
fn run_as_a_worker_process() {
    let Ok(options) = std::env::var(WORKER_OPTIONS) else { return };
    let options: WorkerOptions = serde_json::from_str(&options).unwrap();
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let stop = CancellationToken::new();
    let stop_on_input = stop.clone();
    std::thread::spawn(move || {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).unwrap();
        if line.is_empty() {
            // The test process is gone.
            std::process::exit(1);
        }
        stop_on_input.cancel();
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(work(options, stop));
}

async fn work(options: WorkerOptions, stop: CancellationToken) {
    let pool = connect(&options, 8).await;
    let notes = connect(&options, 4).await;
    sqlx::query("insert into clocks (child, shows) values ($1, $2)")
        .bind(options.number)
        .bind(chrono::Utc::now())
        .execute(&notes)
        .await
        .unwrap();
    let config = config(&options);
    let engine = (options.workers > 0).then(|| {
        let mut handlers = Handlers::new(Recorder::new(notes.clone(), options.number));
        if let Some(program) = &options.program {
            handlers = handlers.program(program);
        }
        let on_stuck = Arc::new(|_| std::process::exit(STUCK));
        Engine::start_watched(pool.clone(), config.clone(), handlers, stop.clone(), on_stuck)
    });
    let mut services = insight::services::services(&config);
    services.push(Arc::new(Chore { child: options.number }));
    let over = CancellationToken::new();
    let maintenance = Maintenance::start(pool.clone(), config, services, None, over.clone());
    let mut leads = maintenance.watch().watch_leader();
    tokio::spawn(async move {
        while leads.changed().await.is_ok() {
            let is_leader = *leads.borrow_and_update();
            let write = sqlx::query("insert into leads (child, leads) values ($1, $2)")
                .bind(options.number)
                .bind(is_leader);
            let _ = write.execute(&notes).await;
        }
    });
    stop.cancelled().await;
    if let Some(engine) = engine {
        engine.shutdown().await;
    }
    over.cancel();
    maintenance.stopped().await;
}

fn config(options: &WorkerOptions) -> EngineConfig {
    EngineConfig {
        workers: options.workers,
        poll_interval: Duration::from_millis(200),
        heartbeat_interval: options.heartbeat,
        recovery_interval: Duration::from_millis(300),
        leader_lease: options.leader_lease,
        watchdog_timeout: options.watchdog_timeout,
        job_timeout: Duration::from_secs(60),
        backoff: model::rules::backoff::Backoff { schedule: "0s".parse().unwrap(), jitter: 0.0 },
        // Handlers fail on purpose: by chance half of a lane's first hundred attempts, which a breaker would take for an outage.
        breaker_failures: 0,
        ..EngineConfig::default()
    }
}

/// Retries, because the database may be down just now.
async fn connect(options: &WorkerOptions, connections: u32) -> PgPool {
    let settings = PoolSettings {
        url: options.url.clone(),
        max_connections: connections,
        application_name: format!("child {}", options.number),
        statement_timeout: None,
    };
    loop {
        match queue::pool::connect(&settings).await {
            Ok(pool) => return pool,
            Err(error) => tracing::info!(%error, "not connected"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A maintenance service that records each run, fenced by the term as all of them are.
struct Chore {
    child: i32,
}

#[async_trait]
impl Service for Chore {
    fn name(&self) -> &'static str {
        "chore"
    }

    fn interval(&self) -> Duration {
        Duration::from_millis(20)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let mut transaction = pool.begin().await?;
        leader::confirm(&mut transaction, term).await?;
        sqlx::query("insert into chores (child, term) values ($1, $2)")
            .bind(self.child)
            .bind(term.number)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(false)
    }
}
