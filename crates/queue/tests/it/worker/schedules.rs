//! Retry schedules of integrations.

use crate::support::{Script, World, config, failed, ok, start, until_recorded};
use model::id::{IntegrationId, JobId};
use model::job::JobStatus;
use model::rules::verdict::{ErrorKind, Verdict};
use queue::EngineConfig;
use queue::store::jobs::JobSpec;
use queue::worker::{AttemptHandler, LeasedJob};
use sqlx::PgPool;
use std::{sync::Arc, time::Duration};

async fn set(world: &World, lane: IntegrationId, schedule: &str) {
    sqlx::query("update headgate.integrations set retry_schedule = $2 where id = $1")
        .bind(lane)
        .bind(schedule)
        .execute(&world.pool)
        .await
        .unwrap();
}

/// Fails at every first attempt; jobs of type "asked" get an answer with Retry-After.
fn fails_first_attempts() -> Arc<dyn AttemptHandler> {
    Script::new(|job: &LeasedJob| {
        let asked = (job.job_type == "asked").then_some(Duration::from_secs(7_200));
        let verdict =
            Verdict::Retry { kind: ErrorKind::Retryable, at_least: asked, quiets_integration: false };
        let is_first = job.attempt == 1;
        Box::pin(async move { if is_first { failed(verdict) } else { ok() } })
    })
}

async fn wait_of(world: &World, id: JobId) -> (Option<i64>, Option<String>) {
    let first = world.get(id).await.attempts.swap_remove(0);
    (first.next_wait_ms, first.next_wait_reason)
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_integrations_own_schedule_is_used_and_otherwise_that_of_the_process(pool: PgPool) {
    let world = World::new(&pool).await;
    let lanes = [world.lane().await, world.lane().await, world.lane().await];
    set(&world, lanes[1], "1h, 3h").await;
    set(&world, lanes[2], "exponential").await;
    let asked = JobSpec { job_type: "asked".to_owned(), ..world.spec(lanes[1]) };
    let mut specs: Vec<JobSpec> = lanes.iter().map(|lane| world.spec(*lane)).collect();
    specs.push(asked);
    let ids: Vec<JobId> = world.accept(&specs).await.into_iter().map(|job| job.id).collect();
    // The process's schedule has no waits.
    let engine = start(&pool, config(), fails_first_attempts());
    until_recorded(&engine, 5).await;
    engine.shutdown().await;
    for (id, (wait, reason)) in ids.iter().zip([
        (0, "step 1 of the retry schedule"),
        (3_600_000, "step 1 of the integration's retry schedule"),
        (2_000, "the integration's retry schedule, exponential"),
        (7_200_000, "their Retry-After asked for 7,200 s"),
    ]) {
        assert_eq!(wait_of(&world, *id).await, (Some(wait), Some(reason.to_owned())));
    }
    assert_eq!(world.get(ids[0]).await.job.status, JobStatus::Completed);
    let job = world.get(ids[1]).await.job;
    assert_eq!(job.status, JobStatus::ToBeRetried);
    assert!(job.retry_at.unwrap() - chrono::Utc::now() > chrono::Duration::minutes(55));
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_changed_schedule_applies_to_later_failures(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    set(&world, lane, "1h").await;
    // The breaker must not open, however often they fail.
    let config = EngineConfig { breaker_failures: 0, ..config() };
    let engine = start(&pool, config, fails_first_attempts());
    let mut count = 0;
    let mut next_wait = async || {
        let id = world.accept(&[world.spec(lane)]).await[0].id;
        engine.wake();
        count += 1;
        until_recorded(&engine, count).await;
        wait_of(&world, id).await.0.unwrap()
    };
    assert_eq!(next_wait().await, 3_600_000);
    set(&world, lane, "2h").await;
    let changed = async { while next_wait().await != 7_200_000 {} };
    assert!(
        tokio::time::timeout(Duration::from_secs(60), changed).await.is_ok(),
        "the old schedule is still used"
    );
    engine.shutdown().await;
}
