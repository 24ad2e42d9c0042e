//! A worker process: an engine and maintenance, as the program has them, with a handler that writes down what it does.

use crate::support::{ORDER, Order, Recorder};
use async_trait::async_trait;
use queue::{
    EngineConfig, QueueError,
    maintenance::{Maintenance, Service},
    pool::PoolSettings,
    store::leader::{self, Term},
    worker::{Engine, Handlers},
};
use sqlx::PgPool;
use std::{io::BufRead as _, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// Exit code of a worker whose watchdog found that a loop has stopped.
pub(crate) const STUCK: i32 = 70;

#[test]
fn be_one_when_told() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let order: Order = serde_json::from_str(&order).unwrap();
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let stop = CancellationToken::new();
    let told = stop.clone();
    std::thread::spawn(move || {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).unwrap();
        if line.is_empty() {
            // Whoever started us is gone.
            std::process::exit(1);
        }
        told.cancel();
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(work(order, stop));
}

async fn work(order: Order, stop: CancellationToken) {
    let pool = connect(&order, 8).await;
    let notes = connect(&order, 4).await;
    sqlx::query("insert into clocks (child, shows) values ($1, $2)")
        .bind(order.number)
        .bind(chrono::Utc::now())
        .execute(&notes)
        .await
        .unwrap();
    let config = config(&order);
    let engine = (order.workers > 0).then(|| {
        let mut handlers = Handlers::new(Recorder::new(notes.clone(), order.number));
        if let Some(program) = &order.program {
            handlers = handlers.program(program);
        }
        let on_stuck = Arc::new(|_| std::process::exit(STUCK));
        Engine::start_watched(pool.clone(), config.clone(), handlers, stop.clone(), on_stuck)
    });
    let chore: Arc<dyn Service> = Arc::new(Chore { child: order.number });
    let over = CancellationToken::new();
    let maintenance = Maintenance::start(pool.clone(), config, vec![chore], over.clone());
    let mut leads = maintenance.watch().watch_leader();
    tokio::spawn(async move {
        while leads.changed().await.is_ok() {
            let is_leader = *leads.borrow_and_update();
            let write = sqlx::query("insert into leads (child, leads) values ($1, $2)")
                .bind(order.number)
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

fn config(order: &Order) -> EngineConfig {
    EngineConfig {
        workers: order.workers,
        poll_interval: Duration::from_millis(200),
        heartbeat_interval: order.heartbeat,
        recovery_interval: Duration::from_millis(300),
        leader_lease: order.leader_lease,
        watchdog_timeout: order.watchdog_timeout,
        job_timeout: Duration::from_secs(60),
        backoff: model::rules::backoff::Backoff { schedule: "0s".parse().unwrap(), jitter: 0.0 },
        // Handlers stumble as they are told to: by chance half of a lane's first hundred, which would be an outage.
        breaker_failures: 0,
        ..EngineConfig::default()
    }
}

/// The database may be away just now.
async fn connect(order: &Order, most: u32) -> PgPool {
    let settings = PoolSettings {
        url: order.url.clone(),
        max_connections: most,
        application_name: format!("child {}", order.number),
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

/// Maintenance that leaves a trace, fenced as all maintenance is.
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
