//! Settings of a process: concurrency, claim size and timeout.

use crate::support::{Script, World, config, ok, start, until, until_recorded};
use model::{attempt::AttemptOutcome, rules::verdict::ErrorKind};
use queue::{EngineConfig, store::jobs::JobSpec, worker::LeasedJob};
use sqlx::PgPool;
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn no_more_jobs_run_at_once_than_there_are_workers(pool: PgPool) {
    let world = World::new(&pool).await;
    for _ in 0..2 {
        let lane = world.lane().await;
        world.accept_plain(lane, 6).await;
    }
    let (open, gate) = watch::channel(false);
    let handler = Script::new(move |_: &LeasedJob| {
        let mut gate = gate.clone();
        Box::pin(async move {
            gate.wait_for(|is_open| *is_open).await.unwrap();
            ok()
        })
    });
    let engine = start(&pool, EngineConfig { workers: 3, ..config() }, handler);
    let watch = engine.watch();
    until(&pool, "select count(*) = 3 from headgate.jobs where status = 1").await;
    // The process has received them too.
    let received = async {
        while engine.watch().report().running < 3 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), received).await.unwrap();
    // However often it is woken, it does not even claim.
    let claims = watch.report().claims.jobs;
    for _ in 0..20 {
        engine.wake();
        tokio::task::yield_now().await;
    }
    assert_eq!((claims, watch.report().claims.jobs, watch.report().slots), (3, 3, 3));
    assert_eq!(world.number("select count(*) from headgate.jobs where status = 1").await, 3);
    open.send(true).unwrap();
    until_recorded(&engine, 12).await;
    engine.shutdown().await;
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_claim_takes_no_more_than_it_may_fetch(pool: PgPool) {
    let world = World::new(&pool).await;
    for _ in 0..2 {
        let lane = world.lane().await;
        world.accept_plain(lane, 10).await;
    }
    let handler = || Script::new(|_: &LeasedJob| Box::pin(async { ok() }));
    let engine = start(&pool, EngineConfig { fetch_limit: 2, ..config() }, handler());
    let watch = engine.watch();
    until_recorded(&engine, 20).await;
    engine.shutdown().await;
    let claims = watch.report().claims;
    assert_eq!(claims.jobs, 20);
    assert_eq!(claims.sizes[2..], [0; 8], "claims of more than two jobs: {:?}", claims.sizes);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_without_a_timeout_gets_that_of_the_process(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let own = JobSpec { timeout_ms: Some(3_600_000), ..world.spec(lane) };
    let ids = [world.accept_plain(lane, 1).await[0], world.accept(&[own]).await[0].id];
    let (open, gate) = watch::channel(false);
    let handler = Script::new(move |job: &LeasedJob| {
        let (is_first, mut gate) = (job.attempt == 1, gate.clone());
        Box::pin(async move {
            if is_first {
                gate.wait_for(|is_open| *is_open).await.unwrap();
            }
            ok()
        })
    });
    let config = EngineConfig { job_timeout: Duration::from_millis(200), ..config() };
    let engine = start(&pool, config, Arc::clone(&handler) as _);
    // The first one times out and then completes; the other one has an hour.
    until_recorded(&engine, 2).await;
    open.send(true).unwrap();
    until_recorded(&engine, 3).await;
    engine.shutdown().await;
    let first = world.get(ids[0]).await.attempts.swap_remove(0);
    assert_eq!((first.outcome, first.error_kind), (AttemptOutcome::TimedOut, Some(ErrorKind::Timeout)));
    assert_eq!(first.error_message.as_deref(), Some("no answer within 200 ms"));
    assert_eq!(world.get(ids[1]).await.job.attempt, 1);
}
