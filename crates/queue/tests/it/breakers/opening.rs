//! What opens a breaker, what does not, and what an open one does to jobs.

use super::support::{as_asked, asks, cap, flips, opens_after_five, script, states};
use crate::support::{Script, World, config, ok, start, until, until_recorded};
use insight::store::explain;
use model::{actor::Scope, breaker::BreakerState, job::JobStatus, rules::explain::ReasonCode};
use queue::{EngineConfig, store::jobs, worker::LeasedJob};
use sqlx::PgPool;

const IS_OPEN: &str = "select exists (select 1 from headgate.breakers where state = 'open')";

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn consecutive_failures_in_two_engines_open_it_and_the_jobs_wait_in_place(pool: PgPool) {
    let world = World::new(&pool).await;
    let (lane, other) = (world.lane_with(2, None).await, world.lane().await);
    let ids: Vec<_> =
        world.accept(&vec![asks(&world, lane, "fails"); 30]).await.into_iter().map(|job| job.id).collect();
    let engines = [start(&pool, opens_after_five(), script()), start(&pool, opens_after_five(), script())];
    until(&pool, IS_OPEN).await;
    // Other lanes are not delayed.
    world.accept_plain(other, 40).await;
    until(&pool, "select count(*) = 40 from headgate.finished_jobs").await;
    for engine in engines {
        engine.shutdown().await;
    }
    let made = world.number("select count(*) from headgate.job_attempts").await;
    assert!((5..=6).contains(&made), "{made} attempts, one of which may have been running when it opened");
    let counted = world.number("select coalesce(sum(attempt), 0)::bigint from headgate.jobs").await;
    assert_eq!(counted, made, "waiting costs no attempt");
    assert_eq!(world.number("select count(*) from headgate.jobs where status <> 1").await, 30);
    assert_eq!(cap(&pool, lane).await, Some(0));
    let worker = world.worker().await;
    assert!(world.claim(worker, 50).await.is_empty());
    let flips = flips(&pool, lane).await;
    let flip = &flips[0];
    assert_eq!((flips.len(), flip.from_state, flip.to_state), (1, BreakerState::Closed, BreakerState::Open));
    assert_eq!((flip.reason.as_str(), &flip.actor), ("5 attempts in a row failed; the last: no", &None));
    assert_eq!(flip.app_id, world.app_id);

    let explained = explain::explain(&pool, Scope::AllApps, ids[29]).await.unwrap();
    let reason = &explained.reasons[0];
    assert_eq!(reason.code, ReasonCode::CircuitOpen);
    let wait = reason.until.unwrap() - flip.at;
    assert!((24..=30).contains(&wait.num_seconds()), "{wait}");
    // Jobs can still be accepted and cancelled.
    world.accept_plain(lane, 1).await;
    assert_eq!(world.cancel(ids[28]).await.unwrap().status, JobStatus::Cancelled);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn outcomes_that_say_nothing_about_the_system_do_not_count(pool: PgPool) {
    let world = World::new(&pool).await;
    let once = |lane, what| jobs::JobSpec { max_attempts: 1, ..asks(&world, lane, what) };
    for what in ["is limited", "is unchanged", "is not sent", "is an echo", "is refused"] {
        let lane = world.lane_with(1, None).await;
        // Four failures precede the outcomes under test.
        let mut specs = vec![once(lane, "fails"); 4];
        specs.extend(vec![once(lane, what); 20]);
        world.accept(&specs).await;
        let engine = start(&pool, opens_after_five(), script());
        until_recorded(&engine, 24).await;
        engine.shutdown().await;
        let in_a_row: i32 =
            sqlx::query_scalar("select failures_in_a_row from headgate.breakers where integration_id = $1")
                .bind(lane)
                .fetch_one(&pool)
                .await
                .unwrap();
        // A refusal is an answer: the system is alive.
        assert_eq!(in_a_row, if what == "is refused" { 0 } else { 4 }, "{what}");
        assert_eq!(cap(&pool, lane).await, None, "{what}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_success_in_another_process_resets_the_count(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(1, None).await;
    let once = |what| jobs::JobSpec { max_attempts: 1, ..asks(&world, lane, what) };
    let engine = start(&pool, opens_after_five(), script());
    world.accept(&vec![once("fails"); 4]).await;
    engine.wake();
    until_recorded(&engine, 4).await;
    engine.shutdown().await;

    let other = start(&pool, opens_after_five(), script());
    world.accept(&[once("succeeds")]).await;
    other.wake();
    until_recorded(&other, 1).await;
    assert_eq!(world.number("select failures_in_a_row::bigint from headgate.breakers").await, 0);
    world.accept(&vec![once("fails"); 4]).await;
    other.wake();
    until_recorded(&other, 5).await;
    assert_eq!(world.number("select failures_in_a_row::bigint from headgate.breakers").await, 4);
    assert_eq!(states(&pool, lane).await, []);
    world.accept(&[once("fails")]).await;
    other.wake();
    until(&pool, IS_OPEN).await;
    other.shutdown().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn half_of_many_attempts_open_it_too(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(1, None).await;
    let once = |what| jobs::JobSpec { max_attempts: 1, ..asks(&world, lane, what) };
    let specs: Vec<_> = (0..26).map(|n| once(if n % 2 == 0 { "fails" } else { "succeeds" })).collect();
    world.accept(&specs).await;
    let engine = start(&pool, opens_after_five(), script());
    until(&pool, IS_OPEN).await;
    engine.shutdown().await;
    let reason = &flips(&pool, lane).await[0].reason;
    assert_eq!(reason, "13 of 25 attempts within a minute failed; the last: no");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_threshold_of_zero_never_opens_it_and_a_healthy_one_writes_nothing(pool: PgPool) {
    let world = World::new(&pool).await;
    let (failing, healthy) = (world.lane().await, world.lane().await);
    world.accept(&vec![jobs::JobSpec { max_attempts: 3, ..asks(&world, failing, "fails") }; 40]).await;
    let never = EngineConfig { breaker_failures: 0, ..config() };
    let engine = start(&pool, never, script());
    until_recorded(&engine, 120).await;
    engine.shutdown().await;
    world.accept_plain(healthy, 300).await;
    let engine = start(&pool, opens_after_five(), Script::new(|_: &LeasedJob| Box::pin(async { ok() })));
    until_recorded(&engine, 300).await;
    engine.shutdown().await;
    assert_eq!(world.number("select count(*) from headgate.breakers").await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn failures_of_one_integration_do_not_count_for_another(pool: PgPool) {
    let world = World::new(&pool).await;
    let lanes = [world.lane().await, world.lane().await];
    for lane in lanes {
        world.accept(&vec![jobs::JobSpec { max_attempts: 1, ..asks(&world, lane, "fails") }; 4]).await;
    }
    let engine = start(
        &pool,
        opens_after_five(),
        Script::new(|job: &LeasedJob| {
            let outcome = as_asked(job);
            Box::pin(async move { outcome })
        }),
    );
    until_recorded(&engine, 8).await;
    engine.shutdown().await;
    assert_eq!(
        world
            .number("select count(*) from headgate.breakers where failures_in_a_row = 4 and state = 'closed'")
            .await,
        2
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn failures_observed_while_an_integration_is_edited_count_afterwards(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(5, None).await;
    world.accept(&vec![jobs::JobSpec { max_attempts: 1, ..asks(&world, lane, "fails") }; 5]).await;
    // The lock that a change of a bundle's window takes, or a deletion.
    let mut edit = pool.begin().await.unwrap();
    sqlx::query("select 1 from headgate.integrations where id = $1 for update")
        .bind(lane)
        .execute(&mut *edit)
        .await
        .unwrap();
    let engine = start(&pool, opens_after_five(), script());
    // The failures are observed before the flip is recorded, and its row refers to the integration.
    until(
        &pool,
        "select exists (select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')",
    )
    .await;
    edit.rollback().await.unwrap();
    until(&pool, IS_OPEN).await;
    engine.shutdown().await;
    assert_eq!(cap(&pool, lane).await, Some(0));
    assert_eq!(states(&pool, lane).await, [BreakerState::Open]);
}
