//! The services run independently of each other, in one process at a time.

use super::world::{World, lead};
use async_trait::async_trait;
use model::id::WorkerId;
use queue::maintenance::{Maintenance, Service};
use queue::store::counts;
use queue::store::leader::{self, Term};
use queue::{EngineConfig, QueueError};
use sqlx::PgPool;
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The services of `insight`, which `headgate` runs in addition to the engine's.
fn insight_services() -> Vec<Arc<dyn Service>> {
    insight::services::services(&EngineConfig::default())
}

/// Counts its runs; panics, fails or works.
struct Probe {
    name: &'static str,
    runs: watch::Sender<u32>,
}

impl Probe {
    fn named(name: &'static str) -> Arc<Self> {
        Arc::new(Self { name, runs: watch::Sender::new(0) })
    }

    async fn ran(&self, times: u32) {
        self.runs.subscribe().wait_for(|runs| *runs >= times).await.unwrap();
    }
}

#[async_trait]
impl Service for Probe {
    fn name(&self) -> &'static str {
        self.name
    }

    fn interval(&self) -> Duration {
        Duration::from_millis(20)
    }

    async fn run_once(&self, _pool: &PgPool, _term: Term) -> Result<bool, QueueError> {
        self.runs.send_modify(|runs| *runs += 1);
        match self.name {
            "panics" => panic!("on purpose"),
            "fails" => Err(QueueError::Timeout),
            _ => Ok(false),
        }
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_service_that_panics_or_fails_stops_no_other(pool: PgPool) {
    let token = CancellationToken::new();
    let (panics, fails, works) = (Probe::named("panics"), Probe::named("fails"), Probe::named("works"));
    let extra: Vec<Arc<dyn Service>> = vec![panics.clone(), fails.clone(), works.clone()];
    let handle = Maintenance::start(pool.clone(), EngineConfig::default(), extra, None, token.clone());
    panics.ran(2).await;
    fails.ran(2).await;
    works.ran(3).await;
    let health = handle.watch().services();
    let of = |name| health.iter().find(|service| service.name == name).unwrap();
    assert_eq!(of("panics").last_error.as_deref(), Some("panicked: on purpose"));
    assert!(of("fails").failures >= 1 && of("fails").runs == 0);
    assert!(of("works").runs >= 2 && of("works").is_healthy());
    assert!(handle.watch().is_leader());

    let watch = handle.watch();
    token.cancel();
    handle.stopped().await;
    assert!(watch.services().iter().all(|service| service.failures_in_a_row == 0));
    // The lease is released: another process leads without waiting.
    lead(&pool).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_process_that_loses_the_lease_stops_its_services(pool: PgPool) {
    let world = World::new(&pool).await;
    let token = CancellationToken::new();
    let works = Probe::named("works");
    let handle =
        Maintenance::start(pool.clone(), EngineConfig::default(), vec![works.clone()], None, token.clone());
    works.ran(1).await;
    let health = handle.watch();
    let mut leads = health.watch_leader();
    leads.wait_for(|leads| *leads).await.unwrap();
    world.run("update headgate.leader set holder = gen_random_uuid(), term = term + 1, expires_at = now() + interval '1 hour'").await;
    leads.wait_for(|leads| !leads).await.unwrap();
    let runs = *works.runs.borrow();
    token.cancel();
    handle.stopped().await;
    assert_eq!(*works.runs.borrow(), runs);
    assert!(
        world.number("select extract(epoch from expires_at - now())::bigint from headgate.leader").await
            > 3_000
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn when_the_leader_ends_another_process_leads(pool: PgPool) {
    let (one_ends, all_ends) = (CancellationToken::new(), CancellationToken::new());
    let one = Maintenance::start(pool.clone(), EngineConfig::default(), Vec::new(), None, one_ends.clone());
    one.watch().watch_leader().wait_for(|leads| *leads).await.unwrap();
    let other = Maintenance::start(pool.clone(), EngineConfig::default(), Vec::new(), None, all_ends.clone());
    assert!(!other.watch().is_leader());
    one_ends.cancel();
    one.stopped().await;
    other.watch().watch_leader().wait_for(|leads| *leads).await.unwrap();
    all_ends.cancel();
    other.stopped().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_process_with_more_services_takes_the_lead_and_keeps_it(pool: PgPool) {
    let ends = CancellationToken::new();
    let config = EngineConfig { leader_lease: Duration::from_secs(3), ..EngineConfig::default() };
    let start = |extra| Maintenance::start(pool.clone(), config.clone(), extra, None, ends.clone());
    let program = start(Vec::new());
    program.watch().watch_leader().wait_for(|leads| *leads).await.unwrap();
    let headgate = start(insight::services::services(&config));
    headgate.watch().watch_leader().wait_for(|leads| *leads).await.unwrap();
    program.watch().watch_leader().wait_for(|leads| !*leads).await.unwrap();
    // A candidate with fewer services does not get the lease.
    let mut connection = pool.acquire().await.unwrap();
    let other = leader::Candidate { holder: WorkerId::generate(), services: 1 };
    assert_eq!(leader::acquire(&mut connection, other, Duration::from_secs(60)).await.unwrap(), None);
    ends.cancel();
    program.stopped().await;
    headgate.stopped().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn one_run_of_every_service_leaves_nothing_to_do(pool: PgPool) {
    let world = World::new(&pool).await;
    world.pending(world.lane, 3, 0).await;
    world.finished(world.lane, 1, 0, 0).await;
    assert!(Maintenance::run_once(&pool, &EngineConfig::default(), insight_services()).await.unwrap());
    assert_eq!(world.number("select count(*) from headgate.job_count_deltas").await, 0);
    assert_eq!(world.number("select count(*) from headgate.live_snapshots").await, 1);
    assert_eq!(counts::drift(&pool).await.unwrap(), []);
    // The lease was released.
    assert!(Maintenance::run_once(&pool, &EngineConfig::default(), insight_services()).await.unwrap());
    let leads = lead(&pool).await;
    assert!(
        !Maintenance::run_once(&pool, &EngineConfig::default(), insight_services()).await.unwrap(),
        "{leads:?} leads"
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_of_a_lost_worker_is_recovered(pool: PgPool) {
    let world = World::new(&pool).await;
    world.processing(world.lane, 2).await;
    world
        .run(
            "insert into headgate.claim_batches (id, worker_id, job_ids)
            select gen_random_uuid(), worker_id, array_agg(id) from headgate.jobs group by worker_id;
            insert into headgate.workers (id, host, pid, version, slots, lease_until)
            select distinct worker_id, 'h', 1, '1', 1, now() + interval '1 minute' from headgate.jobs",
        )
        .await;
    let config = EngineConfig::default();
    let recover = || Maintenance::run_once(&pool, &config, Vec::new());
    recover().await.unwrap();
    assert_eq!(counts::counts(&pool, world.lane).await.unwrap().processing, 2);
    world.run("update headgate.workers set lease_until = clock_timestamp() - interval '1 second'").await;
    recover().await.unwrap();
    let counts = counts::counts(&pool, world.lane).await.unwrap();
    assert_eq!((counts.processing, counts.backlog), (0, 2));
    assert_eq!(world.number("select count(*) from headgate.ready").await, 2);
    assert_eq!(counts::drift(&pool).await.unwrap(), []);
}
