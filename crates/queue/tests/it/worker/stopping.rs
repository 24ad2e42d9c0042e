//! A process that shuts down loses nothing and releases the jobs that it has not done.

use crate::support::{Script, World, config, ok, start, until};
use model::{job::JobStatus, rate_limit::RateLimit};
use queue::EngineConfig;
use queue::worker::{LeasedJob, Outcome, Slot};
use sqlx::PgPool;
use std::{sync::Arc, time::Duration};
use tokio::sync::{Notify, Semaphore};

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn running_jobs_finish_and_waiting_ones_are_released(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(5, None).await;
    let limited = world.lane_with(5, Some(RateLimit { requests: 1, per_seconds: 1 })).await;
    let slow = world.accept_plain(lane, 8).await;
    let (begun, go_on) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
    let (started, gate) = (Arc::clone(&begun), Arc::clone(&go_on));
    let handler = Script::new(move |job: &LeasedJob| {
        let (started, gate) = (Arc::clone(&started), Arc::clone(&gate));
        Box::pin(async move {
            if job.integration_id == limited {
                started.add_permits(1);
                return match job.slot().await {
                    Slot::Go => ok(),
                    Slot::Later(until) => Outcome::Released { until },
                };
            }
            let waiting = gate.notified();
            started.add_permits(1);
            waiting.await;
            ok()
        })
    });
    // The limit's slot is nearly half a second ahead: its job waits in the process.
    sqlx::query("update headgate.rate_limits set tat_us = (extract(epoch from clock_timestamp()) * 1000000)::bigint + 100000000")
        .execute(&pool)
        .await
        .unwrap();
    let engine = start(&pool, config(), handler);
    let _five = begun.acquire_many(5).await.unwrap();
    sqlx::query("update headgate.rate_limits set tat_us = (extract(epoch from clock_timestamp()) * 1000000)::bigint + 450000")
        .execute(&pool)
        .await
        .unwrap();
    let waiting = world.accept_plain(limited, 1).await[0];
    engine.wake();
    let _sixth = begun.acquire().await.unwrap();
    let stopping = tokio::spawn(engine.shutdown());
    until(&pool, "select count(*) = 5 from headgate.jobs where status = 1").await;
    go_on.notify_waiters();
    stopping.await.unwrap();

    let job = world.get(waiting).await.job;
    assert_eq!((job.status, job.attempt), (JobStatus::Pending, 0), "not begun, not counted");
    let completed = world.number("select count(*) from headgate.finished_jobs where status = 3").await;
    assert_eq!(completed, 5);
    for id in &slow[5..] {
        assert_eq!(world.get(*id).await.job.status, JobStatus::Pending);
    }
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_that_outlast_the_grace_are_released(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let id = world.accept_plain(lane, 1).await[0];
    let begun = Arc::new(Notify::new());
    let started = Arc::clone(&begun);
    let handler = Script::new(move |_: &LeasedJob| {
        started.notify_one();
        Box::pin(std::future::pending())
    });
    let grace = Duration::from_millis(50);
    let engine = start(&pool, EngineConfig { shutdown_grace: grace, ..config() }, handler);
    begun.notified().await;
    engine.shutdown().await;
    let job = world.get(id).await.job;
    assert_eq!((job.status, job.attempt), (JobStatus::Pending, 0));
    assert_eq!(world.ready().await, [id]);
    world.must_be_sound().await;
    assert_eq!(world.number("select count(*) from headgate.workers").await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_worker_whose_connection_broke_since_its_last_heartbeat_signs_off_on_another(pool: PgPool) {
    let world = World::new(&pool).await;
    // No later heartbeat notices the broken connection.
    let config = EngineConfig { heartbeat_interval: Duration::from_secs(3_600), ..config() };
    let engine = start(&pool, config, Script::new(|_: &LeasedJob| Box::pin(async { ok() })));
    until(&pool, "select count(*) = 1 from headgate.workers").await;
    let broken = world
        .number(
            "select count(pg_terminate_backend(pid, 10000)) from pg_stat_activity
             where datname = current_database() and query ~ '(into|update) headgate.workers' and pid <> pg_backend_pid()",
        )
        .await;
    assert!(broken > 0, "the connection of its heartbeats");
    engine.shutdown().await;
    assert_eq!(world.number("select count(*) from headgate.workers").await, 0, "the worker has signed off");
}
