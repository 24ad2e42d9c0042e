//! Recovery: exactly the configured number of probes when half-open, longer waits, the ramp.

use super::support::{asks, cap, flips, lead, opens_after_five, script, states, steer, time_passes};
use crate::support::{Script, World, config, ok, start, until, until_recorded};
use chrono::TimeDelta;
use model::breaker::BreakerAction;
use model::breaker::BreakerState::{Closed, HalfOpen, Open, Ramping};
use model::rules::breaker::PROBES;
use queue::store::jobs::JobSpec;
use queue::store::{breakers, lanes};
use queue::worker::LeasedJob;
use queue::{EngineConfig, QueueError};
use sqlx::PgPool;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Semaphore;

const IS_OPEN: &str = "select exists (select 1 from headgate.breakers where state = 'open')";
const IS_CLOSED: &str = "select state = 'closed' from headgate.breakers";

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn half_open_lets_exactly_the_probes_through_over_two_engines(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    steer(&pool, lane, BreakerAction::Hold, Some(TimeDelta::hours(1))).await.unwrap();
    world.accept_plain(lane, 50).await;
    let (begun, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let handler = || {
        let (begun, gate) = (Arc::clone(&begun), Arc::clone(&gate));
        Script::new(move |_: &LeasedJob| {
            let (begun, gate) = (Arc::clone(&begun), Arc::clone(&gate));
            Box::pin(async move {
                begun.fetch_add(1, Ordering::SeqCst);
                gate.acquire().await.unwrap().forget();
                ok()
            })
        })
    };
    let engines = [start(&pool, opens_after_five(), handler()), start(&pool, opens_after_five(), handler())];
    until(&pool, "select count(*) = 2 from headgate.workers").await;
    steer(&pool, lane, BreakerAction::Probe, None).await.unwrap();
    let worker = world.worker().await;
    for spent in 0..PROBES {
        until(&pool, "select coalesce((select n from headgate.processing_counts), 0) = (select breaker_cap from headgate.lanes)").await;
        // Nobody can claim another one: as many probes run as successes are missing.
        assert!(world.claim(worker, 50).await.is_empty());
        assert_eq!(cap(&pool, lane).await, Some(PROBES - spent));
        assert_eq!(begun.load(Ordering::SeqCst), PROBES as usize, "after {spent}");
        gate.add_permits(1);
        match spent {
            0 => until(&pool, "select successes = 1 from headgate.breakers").await,
            1 => until(&pool, "select successes = 2 from headgate.breakers").await,
            _ => until(&pool, "select state = 'ramping' from headgate.breakers").await,
        }
    }
    gate.add_permits(1_000);
    until(&pool, "select count(*) = 50 from headgate.finished_jobs").await;
    for engine in engines {
        engine.shutdown().await;
    }
    assert_eq!(states(&pool, lane).await, [Open, HalfOpen, Ramping]);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn quick_probes_are_counted_before_the_next_one_is_claimed(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(10, None).await;
    let term = lead(&pool).await;
    let engines = [start(&pool, opens_after_five(), script()), start(&pool, opens_after_five(), script())];
    for round in 1..=5 {
        world.accept(&vec![asks(&world, lane, "fails"); 20]).await;
        until(&pool, IS_OPEN).await;
        // The system works again.
        sqlx::query("update headgate.jobs set job_type = 'succeeds'").execute(&pool).await.unwrap();
        time_passes(&pool, term).await;
        until(&pool, IS_CLOSED).await;
        let taken = world
            .number(
                "select count(*) from headgate.finished_jobs j
                 where j.started_at >= (select max(at) from headgate.breaker_flips where to_state = 'half_open')
                     and j.started_at < (select max(at) from headgate.breaker_flips where to_state = 'ramping')",
            )
            .await;
        assert_eq!(taken, i64::from(PROBES), "round {round}");
        until(&pool, "select count(*) = 0 from headgate.jobs").await;
    }
    for engine in engines {
        engine.shutdown().await;
    }
    assert_eq!(cap(&pool, lane).await, None);
    assert_eq!(states(&pool, lane).await, [Open, HalfOpen, Ramping, Closed].repeat(5));
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_probe_that_fails_opens_it_again_for_longer(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(1, None).await;
    let term = lead(&pool).await;
    world.accept(&vec![asks(&world, lane, "fails"); 5]).await;
    let engine = start(&pool, opens_after_five(), script());
    for (nth, min, max) in [(1, 24, 30), (2, 48, 60), (3, 96, 120)] {
        until(&pool, IS_OPEN).await;
        let wait =
            world.number("select extract(epoch from probe_at - since)::bigint from headgate.breakers").await;
        assert!((min..=max).contains(&wait), "{nth}: {wait} s");
        assert_eq!(world.number("select times_opened::bigint from headgate.breakers").await, nth);
        if nth < 3 {
            time_passes(&pool, term).await;
            until(&pool, "select count(*) filter (where to_state = 'open') > count(*) filter (where to_state = 'half_open')
                from headgate.breaker_flips").await;
        }
    }
    engine.shutdown().await;
    assert_eq!(states(&pool, lane).await, [Open, HalfOpen, Open, HalfOpen, Open]);
    assert_eq!(world.number("select count(*) from headgate.job_attempts").await, 5 + 2, "one for each probe");
    assert_eq!(flips(&pool, lane).await[2].reason, "a probe failed: no");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn attempts_begun_before_half_open_do_not_count_as_probes(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let (begun, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (started, wait) = (Arc::clone(&begun), Arc::clone(&gate));
    let engine = start(
        &pool,
        opens_after_five(),
        Script::new(move |_: &LeasedJob| {
            let (started, wait) = (Arc::clone(&started), Arc::clone(&wait));
            Box::pin(async move {
                started.add_permits(1);
                wait.acquire().await.unwrap().forget();
                super::support::fails()
            })
        }),
    );
    world.accept(&[JobSpec { max_attempts: 1, ..world.spec(lane) }]).await;
    engine.wake();
    begun.acquire().await.unwrap().forget();
    steer(&pool, lane, BreakerAction::Hold, Some(TimeDelta::hours(1))).await.unwrap();
    steer(&pool, lane, BreakerAction::Probe, None).await.unwrap();
    gate.add_permits(1);
    until_recorded(&engine, 1).await;
    engine.shutdown().await;
    assert_eq!(states(&pool, lane).await, [Open, HalfOpen]);
    assert_eq!(cap(&pool, lane).await, Some(PROBES));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_probe_lost_with_its_worker_is_replaced(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    world.accept_plain(lane, 9).await;
    steer(&pool, lane, BreakerAction::Hold, Some(TimeDelta::hours(1))).await.unwrap();
    steer(&pool, lane, BreakerAction::Probe, None).await.unwrap();
    let (first, second) = (world.worker().await, world.worker().await);
    assert_eq!(world.claim(first, 9).await.len(), PROBES as usize);
    assert!(world.claim(second, 9).await.is_empty());
    world.end_lease(first).await;
    assert_eq!(world.recover().await.returned, PROBES as u64);
    world.let_time_pass().await;
    assert_eq!(world.claim(second, 9).await.len(), PROBES as usize);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_bundle_probes_with_one_request_at_a_time(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let bundle = lanes::Lane {
        integration_id: lane,
        app_id: world.app_id,
        is_external: false,
        is_open: true,
        max_concurrency: 50,
        jobs_per_request: 10,
        limit_keys: Vec::new(),
    };
    steer(&pool, lane, BreakerAction::Hold, Some(TimeDelta::hours(1))).await.unwrap();
    lanes::upsert(&mut pool.acquire().await.unwrap(), &bundle).await.unwrap();
    world.accept_plain(lane, 30).await;
    let worker = world.worker().await;
    // Writing the lane again leaves the breaker's cap alone.
    assert_eq!(cap(&pool, lane).await, Some(0));
    assert!(world.claim(worker, 30).await.is_empty());
    steer(&pool, lane, BreakerAction::Probe, None).await.unwrap();
    assert_eq!(world.claim(worker, 30).await.len(), 10);
    assert!(world.claim(worker, 30).await.is_empty());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn only_the_leader_moves_breakers_on_as_time_passes(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(12, None).await;
    let term = lead(&pool).await;
    steer(&pool, lane, BreakerAction::Hold, Some(TimeDelta::hours(1))).await.unwrap();
    assert_eq!(breakers::due(&pool, 10).await.unwrap(), [], "the hold goes on");
    sqlx::query("update headgate.breakers set probe_at = clock_timestamp(), held_until = clock_timestamp()")
        .execute(&pool)
        .await
        .unwrap();
    let due = breakers::due(&pool, 10).await.unwrap();
    assert_eq!(due, [lane]);
    let late = queue::store::leader::Term { number: term.number + 1, ..term };
    assert!(matches!(breakers::tick(&pool, late, &due).await, Err(QueueError::TermOver)));
    assert_eq!(states(&pool, lane).await, [Open]);
    assert!(breakers::tick(&pool, term, &due).await.unwrap());
    let flip = &flips(&pool, lane).await[1];
    assert_eq!((flip.to_state, flip.reason.as_str()), (HalfOpen, "the hold is over: 3 probes decide"));
    assert_eq!(breakers::due(&pool, 10).await.unwrap(), [], "probes decide, not time");

    // An undisturbed ramp ends by itself.
    let engine = start(
        &pool,
        EngineConfig { workers: 3, ..config() },
        Script::new(|_: &LeasedJob| Box::pin(async { ok() })),
    );
    world.accept_plain(lane, 3).await;
    engine.wake();
    until(&pool, "select state = 'ramping' from headgate.breakers").await;
    engine.shutdown().await;
    assert_eq!(cap(&pool, lane).await, Some(6));
    sqlx::query("update headgate.breakers set step_at = step_at - interval '10 seconds'")
        .execute(&pool)
        .await
        .unwrap();
    let due = breakers::due(&pool, 10).await.unwrap();
    breakers::tick(&pool, term, &due).await.unwrap();
    assert_eq!((states(&pool, lane).await.last(), cap(&pool, lane).await), (Some(&Closed), None));
    assert_eq!(world.number("select count(*) from headgate.breakers where is_watched").await, 0);
}
