//! A job that cannot be moved, or that is locked, does not block the others.

use super::world::lead;
use crate::support::{World, service, until};
use model::id::JobId;
use queue::EngineConfig;
use queue::maintenance::{Maintenance, ServiceHealth};
use queue::store::jobs::{self, JobSpec, Recovered};
use sqlx::PgPool;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Makes every statement fail that recovers or ends this job, or takes it out of `waiting`.
async fn make_immovable(pool: &PgPool, id: JobId) {
    let sql = format!(
        "create function rot() returns trigger language plpgsql as $$
        begin
            raise exception 'rotten' using errcode = '22P02';
        end $$;
        create trigger rot_job before update on headgate.jobs for each row
            when (old.id = '{id}' and old.status = 1 and new.status <> 1) execute function rot();
        create trigger rot_end before delete on headgate.jobs for each row when (old.id = '{id}') execute function rot();
        create trigger rot_entry before delete on headgate.waiting for each row when (old.job_id = '{id}') execute function rot();"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(pool).await.unwrap();
}

async fn heal(pool: &PgPool) {
    sqlx::raw_sql("drop function rot() cascade").execute(pool).await.unwrap();
}

/// A worker that is lost with so many jobs, claimed ten at a time.
async fn lose_worker(world: &World, jobs: usize) -> Vec<JobId> {
    let lane = world.lane_with(1_000, None).await;
    let ids = world.accept_plain(lane, jobs).await;
    let worker = world.worker().await;
    for _ in 0..jobs.div_ceil(10) {
        assert!(!world.claim(worker, 10).await.is_empty());
    }
    world.end_lease(worker).await;
    ids
}

async fn until_health(handle: &Maintenance, service: &str, is_so: impl Fn(&ServiceHealth) -> bool) {
    let polling = async {
        while !handle.watch().services().iter().any(|health| health.name == service && is_so(health)) {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), polling).await;
    assert!(waited.is_ok(), "never so: {:?}", handle.watch().services());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_cannot_be_recovered_does_not_block_others(pool: PgPool) {
    let world = World::new(&pool).await;
    let ids = lose_worker(&world, 95).await;
    make_immovable(&pool, ids[42]).await;
    let often = EngineConfig { recovery_interval: Duration::from_millis(20), ..EngineConfig::default() };
    let token = CancellationToken::new();
    let handle = Maintenance::start(
        pool.clone(),
        often,
        insight::services::services(&EngineConfig::default()),
        None,
        token.clone(),
    );
    until(&pool, "select count(*) = 94 from headgate.ready").await;
    until_health(&handle, "lease_recovery", |health| health.passed_over == 1 && health.runs >= 3).await;
    until(&pool, "select count(*) = 1 from headgate.claim_batches").await;
    let of = |name| handle.watch().services().into_iter().find(|service| service.name == name).unwrap();
    assert_eq!(of("lease_recovery").failures, 0, "{:?}", of("lease_recovery").last_error);
    assert_eq!(of("lease_recovery").passed_over, 1, "it is not tried again for a while");
    token.cancel();
    handle.stopped().await;

    heal(&pool).await;
    Maintenance::run_once(
        &pool,
        &EngineConfig::default(),
        insight::services::services(&EngineConfig::default()),
    )
    .await
    .unwrap();
    assert_eq!(world.ready().await.len(), 95);
    assert_eq!(world.number("select count(*) from headgate.claim_batches").await, 0);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_cannot_be_promoted_does_not_block_others(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let lane = world.lane().await;
    let soon = Some(chrono::Utc::now() + chrono::Duration::hours(1));
    let ids = world.accept(&vec![JobSpec { run_at: soon, ..world.spec(lane) }; 70]).await;
    sqlx::raw_sql(
        "update headgate.jobs set run_at = clock_timestamp(); update headgate.waiting set due_at = clock_timestamp()",
    )
    .execute(&pool)
    .await
    .unwrap();
    make_immovable(&pool, ids[7].id).await;
    let promote = service("promote");
    // The failed statement's locks may last a moment longer than its error takes to arrive.
    while world.ready().await.len() < 69 {
        promote.run_once(&pool, term).await.unwrap();
    }
    let left =
        "select count(*) from headgate.waiting where due_at > clock_timestamp() + interval '50 seconds'";
    assert_eq!(world.number(left).await, 1, "it is put off for a while");
    promote.run_once(&pool, term).await.unwrap();

    heal(&pool).await;
    sqlx::raw_sql("update headgate.waiting set due_at = clock_timestamp()").execute(&pool).await.unwrap();
    promote.run_once(&pool, term).await.unwrap();
    assert_eq!(world.ready().await.len(), 70);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_expired_job_that_cannot_be_ended_does_not_block_others(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let lane = world.lane().await;
    let past = Some(chrono::Utc::now() - chrono::Duration::hours(1));
    let ids = world.accept(&vec![JobSpec { expires_at: past, ..world.spec(lane) }; 70]).await;
    make_immovable(&pool, ids[7].id).await;
    let expiry = service("expiry");
    expiry.run_once(&pool, term).await.unwrap();
    assert_eq!(world.ready().await, [ids[7].id]);
    heal(&pool).await;
    expiry.run_once(&pool, term).await.unwrap();
    assert_eq!(world.ready().await, [ids[7].id], "it is not tried again for a while");
    service("expiry").run_once(&pool, term).await.unwrap();
    assert_eq!(world.ready().await, []);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn recovery_waits_for_no_lock_and_finds_locked_jobs_the_next_time(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let spec = JobSpec { deduplication_id: Some("x".into()), ..world.spec(lane) };
    world.accept(std::slice::from_ref(&spec)).await;
    world.accept_plain(lane, 9).await;
    let worker = world.worker().await;
    assert_eq!(world.claim(worker, 10).await.len(), 10);
    world.end_lease(worker).await;
    // A producer that folds a change into it and does not commit.
    let mut producer = pool.begin().await.unwrap();
    jobs::enqueue(&mut producer, &[spec]).await.unwrap();
    assert_eq!(world.recover().await.returned, 9);
    assert_eq!(world.recover().await.returned, 0);
    producer.commit().await.unwrap();
    assert_eq!(world.recover().await.returned, 1);
    assert_eq!(world.number("select count(*) from headgate.claim_batches").await, 0);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn recovery_waits_for_no_key_and_finds_passed_over_jobs_the_next_time(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let keyed = |key: &str| JobSpec { serialize_key: Some(key.into()), ..world.spec(lane) };
    let change = |key: &str| JobSpec { deduplication_id: Some("x".into()), ..keyed(key) };
    world.accept_plain(lane, 7).await;
    // Two of them end, because they are cancelled; so the lines of their keys move on, and that of the successor of one of them.
    let ends = world.accept(&[keyed("a"), change("b"), keyed("c")]).await;
    let worker = world.worker().await;
    assert_eq!(world.claim(worker, 10).await.len(), 10);
    for job in &ends[..2] {
        world.cancel(job.id).await.unwrap();
    }
    let successor = world.accept(&[change("d")]).await[0].id;
    world.end_lease(worker).await;
    // A producer that adds jobs to these lines and does not commit.
    let mut producer = pool.begin().await.unwrap();
    jobs::enqueue(&mut producer, &[keyed("a"), keyed("c"), keyed("d")]).await.unwrap();
    let recover = async || {
        let begin_statement = format!("{}; set local lock_timeout = '100ms'", jobs::BEGIN);
        let mut transaction = pool.begin_with(sqlx::AssertSqlSafe(begin_statement)).await.unwrap();
        let lost = jobs::recover_lost_leases(&mut transaction, 100).await.unwrap();
        transaction.commit().await.unwrap();
        lost
    };
    assert_eq!(
        recover().await,
        Recovered { returned: 8, ..Recovered::default() },
        "a job that is recovered keeps its key"
    );
    assert_eq!(recover().await, Recovered::default());
    producer.commit().await.unwrap();
    assert_eq!(recover().await, Recovered { cancelled: 2, ..Recovered::default() });
    assert_eq!(world.number("select count(*) from headgate.claim_batches").await, 0);
    let alive = world.worker().await;
    let next: Vec<JobId> = world.claim(alive, 20).await.iter().map(|job| job.id).collect();
    assert!(next.len() == 10 && next.contains(&successor), "both lines went on: {}", next.len());
    world.must_be_sound().await;
}
