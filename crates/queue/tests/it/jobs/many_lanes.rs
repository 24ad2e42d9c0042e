//! With many lanes, those without work sleep and the others take turns.

use crate::support::{World, end, sent};
use model::id::IntegrationId;
use queue::store::jobs::{ClaimRequest, JobSpec};
use queue::store::promotion;
use sqlx::PgPool;
use std::collections::HashMap;

/// As if the lane had not been woken for a while.
async fn let_rest(pool: &PgPool, lane: IntegrationId) {
    sqlx::query("update headgate.lanes set woken_at = clock_timestamp() - interval '10 seconds' where integration_id = $1")
        .bind(lane)
        .execute(pool)
        .await
        .unwrap();
}

async fn is_asleep(pool: &PgPool, lane: IntegrationId) -> bool {
    sqlx::query_scalar("select is_asleep from headgate.lanes where integration_id = $1")
        .bind(lane)
        .fetch_one(pool)
        .await
        .unwrap()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_lane_without_work_sleeps_until_its_next_job(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let lane = world.lane().await;
    world.claim(worker, 5).await;
    assert!(!is_asleep(&pool, lane).await, "a new lane may be about to get its first job");
    let_rest(&pool, lane).await;
    world.claim(worker, 5).await;
    assert!(is_asleep(&pool, lane).await);

    let job = world.accept_plain(lane, 1).await[0];
    let leased = world.claim(worker, 5).await;
    assert_eq!(leased[0].id, job);
    assert!(!is_asleep(&pool, lane).await);
    world.finish(&[end(&leased[0], sent())]).await;

    // A job that falls due wakes it too.
    let later = chrono::Utc::now() + chrono::TimeDelta::hours(1);
    let scheduled = world.accept(&[JobSpec { run_at: Some(later), ..world.spec(lane) }]).await[0].id;
    let_rest(&pool, lane).await;
    world.claim(worker, 5).await;
    assert!(is_asleep(&pool, lane).await);
    world.let_time_pass().await;
    assert_eq!(world.claim(worker, 5).await[0].id, scheduled);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_is_committed_late_does_not_find_its_lane_asleep(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let lane = world.lane().await;
    let_rest(&pool, lane).await;
    let mut transaction = pool.begin().await.unwrap();
    queue::store::jobs::enqueue(&mut transaction, &[world.spec(lane)]).await.unwrap();
    // The job is not visible yet: the lane falls asleep.
    assert_eq!(world.claim(worker, 5).await.len(), 0);
    assert!(is_asleep(&pool, lane).await);
    transaction.commit().await.unwrap();
    assert_eq!(world.claim(worker, 5).await.len(), 1);
    assert!(!is_asleep(&pool, lane).await);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn enqueuing_does_not_lock_the_lane(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    sqlx::raw_sql("update headgate.lanes set is_asleep = true, woken_at = woken_at - interval '1 minute'")
        .execute(&pool)
        .await
        .unwrap();
    let mut transaction = pool.begin().await.unwrap();
    queue::store::jobs::enqueue(&mut transaction, &[world.spec(lane)]).await.unwrap();
    let mut other = pool.acquire().await.unwrap();
    sqlx::raw_sql("set lock_timeout = '5s'; update headgate.lanes set breaker_cap = 0")
        .execute(&mut *other)
        .await
        .unwrap();
    transaction.commit().await.unwrap();
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_lane_whose_next_job_is_locked_does_not_keep_the_others_waiting(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let (locked, free) = (world.lane().await, world.lane().await);
    let first = world.accept_plain(locked, 1).await[0];
    world.accept_plain(free, 1).await;
    let mut transaction = pool.begin().await.unwrap();
    sqlx::query("select 1 from headgate.jobs where id = $1 for update")
        .bind(first)
        .execute(&mut *transaction)
        .await
        .unwrap();
    let claimed = [world.claim(worker, 1).await, world.claim(worker, 1).await].concat();
    assert_eq!(claimed.iter().map(|job| job.integration_id).collect::<Vec<_>>(), [free]);
    transaction.commit().await.unwrap();
    assert_eq!(world.claim(worker, 1).await[0].id, first);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_exceeds_a_lanes_share_is_claimed_from_the_others(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker_id = world.worker().await;
    let (busy, idle) = (world.lane_with(1_000, None).await, world.lane_with(1_000, None).await);
    world.accept_plain(busy, 300).await;
    world.accept_plain(idle, 300).await;
    let claims = ClaimRequest {
        worker_id,
        wanted: 101,
        lane_cap: 100,
        busy: HashMap::from([(busy, 99)]),
        program: None,
    };
    let claimed = queue::store::jobs::claim(&pool, &claims).await.unwrap();
    assert_eq!(claimed.iter().filter(|job| job.integration_id == busy).count(), 1);
    assert_eq!(claimed.len(), 101);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_lane_that_sleeps_although_it_has_work_is_woken(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let (lane, idle) = (world.lane().await, world.lane().await);
    world.accept_plain(lane, 1).await;
    sqlx::raw_sql("update headgate.lanes set is_asleep = true").execute(&pool).await.unwrap();
    assert_eq!(world.claim(worker, 5).await.len(), 0);
    assert_eq!(promotion::wake_forgotten(&pool).await.unwrap(), 1);
    assert!(is_asleep(&pool, idle).await);
    assert_eq!(world.claim(worker, 5).await.len(), 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn hundreds_of_lanes_take_turns_and_urgent_work_goes_first(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let mut lanes = Vec::new();
    for _ in 0..200 {
        lanes.push(world.lane().await);
    }
    let specs: Vec<JobSpec> = lanes.iter().flat_map(|lane| [world.spec(*lane), world.spec(*lane)]).collect();
    world.accept(&specs).await;
    // A claim of ten jobs considers 64 lanes.
    let mut served: HashMap<IntegrationId, usize> = HashMap::new();
    for _ in 0..20 {
        for job in world.claim(worker, 10).await {
            *served.entry(job.integration_id).or_default() += 1;
        }
    }
    assert_eq!(served.len(), 200, "every lane is served once before any is served twice");
    let last = world.claim(worker, 10).await[0].integration_id;
    let urgent = JobSpec { job_type: "metadata.update".into(), ..world.spec(last) };
    let urgent = world.accept(&[urgent]).await[0].id;
    assert_eq!(world.claim(worker, 1).await[0].id, urgent, "although its lane is the last in line");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_lane_with_much_work_fills_what_the_others_leave(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let (small, large) = (world.lane().await, world.lane_with(1_000, None).await);
    world.accept_plain(small, 3).await;
    let in_order = world.accept_plain(large, 500).await;
    let claimed = world.claim(worker, 100).await;
    let of =
        |lane| claimed.iter().filter(|job| job.integration_id == lane).map(|job| job.id).collect::<Vec<_>>();
    assert_eq!(of(small).len(), 3);
    assert_eq!(of(large), in_order[..97]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn all_urgent_work_of_a_lane_goes_before_the_normal_work_of_others(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let (urgent, plain) = (world.lane_with(1_000, None).await, world.lane_with(1_000, None).await);
    world.accept_plain(plain, 100).await;
    let spec = JobSpec { job_type: "attribute.update".into(), ..world.spec(urgent) };
    world.accept(&vec![spec; 90]).await;
    let claimed = world.claim(worker, 100).await;
    assert_eq!(claimed.iter().filter(|job| job.integration_id == urgent).count(), 90);
    assert_eq!(claimed.len(), 100);
}
