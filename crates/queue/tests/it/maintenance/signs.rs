//! Services run when there is a sign of work.

use super::world::World;
use async_trait::async_trait;
use queue::maintenance::{Maintenance, Service, all_services};
use queue::store::leader::Term;
use queue::{EngineConfig, QueueError};
use sqlx::{AssertSqlSafe, PgExecutor, PgPool};
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

async fn is_seen(executor: impl PgExecutor<'_>, sign: &str) -> bool {
    sqlx::query_scalar(AssertSqlSafe(format!("select ({sign})"))).fetch_one(executor).await.unwrap()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_kind_of_work_has_a_sign(pool: PgPool) {
    let world = World::new(&pool).await;
    let config = EngineConfig::default();
    let services = all_services(&config, insight::services::services(&config));
    let sign = |name: &str| {
        let service = services.iter().find(|service| service.name() == name);
        service.and_then(|service| service.sign()).unwrap_or_else(|| panic!("{name}"))
    };
    for service in &services {
        if let Some(sign) = service.sign() {
            assert!(!is_seen(&pool, sign).await, "{}: nothing happened yet", service.name());
        }
    }
    world.pending(world.lane, 1, 0).await;
    for (name, work) in [
        ("fold_counts", "insert into headgate.job_count_deltas values (gen_random_uuid(), 0, 0, 1)"),
        ("fold_counts", "insert into headgate.batch_deltas (batch_id, total) values (gen_random_uuid(), 1)"),
        (
            "rollup",
            "insert into headgate.throughput_deltas (integration_id, completed) values (gen_random_uuid(), 1)",
        ),
        (
            "promote",
            "insert into headgate.waiting (due_at, job_id, integration_id)
             select clock_timestamp(), id, integration_id from headgate.jobs",
        ),
        (
            "promote",
            "insert into headgate.ready (integration_id, rank, created_at, job_id)
             select integration_id, 0, created_at, id from headgate.jobs",
        ),
        (
            "breakers",
            "insert into headgate.breakers as b (integration_id, is_watched) select id, true from headgate.integrations
             on conflict (integration_id) do update set is_watched = true",
        ),
        ("expiry", "update headgate.jobs set expires_at = clock_timestamp() - interval '1 second'"),
    ] {
        let (mut transaction, sign) = (pool.begin().await.unwrap(), sign(name));
        sqlx::raw_sql("delete from headgate.ready; delete from headgate.job_count_deltas")
            .execute(&mut *transaction)
            .await
            .unwrap();
        assert!(!is_seen(&mut *transaction, sign).await, "{name}: before {work}");
        sqlx::raw_sql(work).execute(&mut *transaction).await.unwrap();
        assert!(is_seen(&mut *transaction, sign).await, "{name}: after {work}");
        transaction.rollback().await.unwrap();
    }
}

/// Counts its runs. Without a sign it always runs.
struct Probe {
    runs: watch::Sender<u32>,
    sign: Option<&'static str>,
}

#[async_trait]
impl Service for Probe {
    fn name(&self) -> &'static str {
        "probe"
    }

    fn sign(&self) -> Option<&'static str> {
        self.sign
    }

    fn interval(&self) -> Duration {
        Duration::from_millis(5)
    }

    async fn run_once(&self, _pool: &PgPool, _term: Term) -> Result<bool, QueueError> {
        self.runs.send_modify(|runs| *runs += 1);
        Ok(false)
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_service_runs_only_while_there_is_a_sign(pool: PgPool) {
    sqlx::query("create table public.work (n int)").execute(&pool).await.unwrap();
    let probe = |sign| Arc::new(Probe { runs: watch::Sender::new(0), sign });
    let (waits, always) = (probe(Some("exists (select from public.work)")), probe(None));
    let token = CancellationToken::new();
    let services: Vec<Arc<dyn Service>> = vec![waits.clone(), always.clone()];
    let handle = Maintenance::start(pool.clone(), EngineConfig::default(), services, None, token.clone());
    let run = async |probe: &Probe, times: u32| {
        let from = *probe.runs.borrow();
        probe.runs.subscribe().wait_for(|runs| *runs >= from + times).await.unwrap();
    };
    // Once the leader knows that there is no sign, it does not run while the other one runs a hundred times.
    let quiet = async {
        loop {
            let before = *waits.runs.borrow();
            run(&always, 100).await;
            if *waits.runs.borrow() == before {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), quiet).await.unwrap();
    sqlx::query("insert into public.work values (1)").execute(&pool).await.unwrap();
    // Without a sign this would take minutes.
    tokio::time::timeout(Duration::from_secs(60), run(&waits, 50)).await.unwrap();
    token.cancel();
    handle.stopped().await;
}
