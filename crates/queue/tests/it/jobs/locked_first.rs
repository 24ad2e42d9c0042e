//! A lane whose first jobs are locked by another transaction gives the jobs behind them.

use crate::support::World;
use model::id::{IntegrationId, JobId, WorkerId};
use queue::store::jobs::{self, JobSpec};
use sqlx::{PgPool, Postgres, Transaction};

/// Accepts jobs of a lane that can be folded into; in the order in which they are claimed.
async fn foldable(world: &World, lane: IntegrationId, count: usize) -> Vec<JobId> {
    let specs: Vec<JobSpec> = (0..count).map(|n| spec(world, lane, n)).collect();
    world.accept(&specs).await.into_iter().map(|job| job.id).collect()
}

fn spec(world: &World, lane: IntegrationId, n: usize) -> JobSpec {
    JobSpec { deduplication_id: Some(format!("{n:03}")), ..world.spec(lane) }
}

async fn claim(world: &World, worker: WorkerId, wanted: usize) -> Vec<JobId> {
    world.claim(worker, wanted).await.iter().map(|job| job.id).collect()
}

/// A producer that folds into the first jobs of a lane and does not commit.
async fn lock_first(world: &World, lane: IntegrationId, count: usize) -> Transaction<'static, Postgres> {
    let mut producer = world.pool.begin().await.unwrap();
    let specs: Vec<JobSpec> = (0..count).map(|n| spec(world, lane, n)).collect();
    jobs::enqueue(&mut producer, &specs).await.unwrap();
    producer
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn claims_of_one_job_pass_over_a_locked_first_one(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let ids = foldable(&world, lane, 3).await;
    let producer = lock_first(&world, lane, 1).await;
    for expected in &ids[1..] {
        assert_eq!(claim(&world, worker, 1).await, [*expected]);
    }
    assert!(world.claim(worker, 1).await.is_empty());
    producer.commit().await.unwrap();
    assert_eq!(world.claim(worker, 1).await[0].id, ids[0]);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn claims_of_one_job_pass_over_hundreds_of_locked_ones(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let ids = foldable(&world, lane, 802).await;
    let _producer = lock_first(&world, lane, 800).await;
    for expected in &ids[800..] {
        assert_eq!(claim(&world, worker, 1).await, [*expected]);
    }
    assert!(world.claim(worker, 1).await.is_empty());
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn each_lane_gives_its_share_although_the_first_job_of_one_is_locked(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let mut of_lanes = Vec::new();
    for _ in 0..3 {
        let lane = world.lane().await;
        of_lanes.push((lane, foldable(&world, lane, 3).await));
    }
    let _producer = lock_first(&world, of_lanes[1].0, 1).await;
    let mut claimed = claim(&world, worker, 3).await;
    let mut expected = vec![of_lanes[0].1[0], of_lanes[1].1[1], of_lanes[2].1[0]];
    claimed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(claimed, expected);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn replacements_for_locked_jobs_never_exceed_the_lanes_concurrency(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(10, None).await;
    let worker = world.worker().await;
    let ids = foldable(&world, lane, 40).await;
    let _producer = lock_first(&world, lane, 6).await;
    let claimed = claim(&world, worker, 30).await;
    assert_eq!(claimed, ids[6..16], "ten at once, and in their order");
    assert!(world.claim(worker, 30).await.is_empty(), "its cap is full");
    world.must_be_sound().await;
}
