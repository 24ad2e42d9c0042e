//! Claims are fair, take urgent jobs first, and respect every limit.

use crate::support::{World, end, sent};
use model::rate_limit::RateLimit;
use queue::store::jobs::{self, ClaimRequest, JobSpec};
use queue::store::lanes;
use sqlx::PgPool;
use std::collections::HashMap;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_hot_integration_does_not_starve_the_others(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let hot = world.lane_with(1_000, None).await;
    world.accept_plain(hot, 300).await;
    let (one, two) = (world.lane().await, world.lane().await);
    world.accept_plain(one, 3).await;
    world.accept_plain(two, 3).await;
    let claimed = world.claim(worker, 9).await;
    for lane in [hot, one, two] {
        assert_eq!(claimed.iter().filter(|job| job.integration_id == lane).count(), 3);
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn urgent_jobs_go_first_then_priority_then_age(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let lane = world.lane().await;
    let old = world.accept_plain(lane, 1).await[0];
    let high = world.accept(&[JobSpec { priority: 50, ..world.spec(lane) }]).await[0].id;
    let urgent = world
        .accept(&[JobSpec { job_type: "attribute.update".into(), priority: -100, ..world.spec(lane) }])
        .await[0]
        .id;
    let other = world.lane().await;
    world.accept_plain(other, 1).await;
    for expected in [urgent, high] {
        let claimed = world.claim(worker, 1).await;
        // The other integration's turn comes first, because it was never served.
        let claimed = if claimed[0].integration_id == other { world.claim(worker, 1).await } else { claimed };
        assert_eq!(claimed[0].id, expected);
    }
    assert!(world.claim(worker, 5).await.iter().any(|job| job.id == old));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn two_claimers_never_exceed_the_concurrency_of_an_integration(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(7, None).await;
    world.accept_plain(lane, 400).await;
    let claimer = async || {
        let worker = world.worker().await;
        for _ in 0..25 {
            let leased = world.claim(worker, 5).await;
            let processing = world.number("select count(*) from headgate.jobs where status = 1").await;
            assert!(processing <= 7, "{processing} at once");
            let ends: Vec<_> = leased.iter().map(|job| end(job, sent())).collect();
            world.finish(&ends).await;
        }
    };
    tokio::join!(claimer(), claimer(), claimer());
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn no_integration_gets_more_than_its_share_while_others_wait(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker_id = world.worker().await;
    let (greedy, modest) = (world.lane().await, world.lane().await);
    world.accept_plain(greedy, 40).await;
    let claim = async |wanted, busy: &[(_, _)]| {
        let busy: HashMap<_, _> = busy.iter().copied().collect();
        jobs::claim(&pool, &ClaimRequest { worker_id, wanted, lane_cap: 5, busy, program: None })
            .await
            .unwrap()
    };
    assert_eq!(claim(8, &[]).await.len(), 8, "alone it may have all");
    world.accept_plain(modest, 1).await;
    let claimed = claim(8, &[(greedy, 3)]).await;
    assert_eq!(claimed.iter().filter(|job| job.integration_id == greedy).count(), 2);
    assert_eq!(claimed.iter().filter(|job| job.integration_id == modest).count(), 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn closed_quiet_and_used_up_lanes_are_passed_over(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let limit = RateLimit { requests: 1, per_seconds: 60 };
    let (closed, quiet, limited) =
        (world.lane().await, world.lane().await, world.lane_with(50, Some(limit)).await);
    for lane in [closed, quiet, limited] {
        world.accept_plain(lane, 3).await;
    }
    let mut connection = pool.acquire().await.unwrap();
    lanes::close(&mut connection, closed).await.unwrap();
    lanes::set_quiet(&mut connection, quiet, std::time::Duration::from_secs(60)).await.unwrap();
    let claimed = world.claim(worker, 10).await;
    assert_eq!(claimed.len(), 1, "one slot is free");
    assert!(claimed[0].is_limited && claimed[0].integration_id == limited);
    sqlx::query("select * from headgate.reserve_slots(array[$1], 1, 500000)")
        .bind(limited.to_string())
        .execute(&pool)
        .await
        .unwrap();
    assert_eq!(world.claim(worker, 10).await.len(), 0);
    lanes::open(&mut connection, closed).await.unwrap();
    assert_eq!(world.claim(worker, 10).await.len(), 3);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_locked_job_is_passed_over_and_a_stray_entry_is_removed(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let lane = world.lane().await;
    let ids = world.accept_plain(lane, 2).await;
    let mut transaction = pool.begin().await.unwrap();
    sqlx::query("select 1 from headgate.jobs where id = $1 for update")
        .bind(ids[0])
        .execute(&mut *transaction)
        .await
        .unwrap();
    let claimed = world.claim(worker, 10).await;
    assert_eq!(claimed.iter().map(|job| job.id).collect::<Vec<_>>(), [ids[1]]);
    transaction.commit().await.unwrap();
    // An entry for a job that runs already, and one for a job that does not exist.
    sqlx::query(
        "insert into headgate.ready (integration_id, rank, created_at, job_id)
         values ($1, 0, now(), $2), ($1, 0, now(), gen_random_uuid())",
    )
    .bind(lane)
    .bind(ids[1])
    .execute(&pool)
    .await
    .unwrap();
    let claimed = world.claim(worker, 10).await;
    assert_eq!(claimed.iter().map(|job| job.id).collect::<Vec<_>>(), [ids[0]]);
    assert_eq!(world.ready().await, []);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_claim_does_not_wait_for_a_change_of_the_lane(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let lane = world.lane().await;
    world.accept_plain(lane, 1).await;
    let mut transaction = pool.begin().await.unwrap();
    lanes::close(&mut transaction, lane).await.unwrap();
    assert_eq!(world.claim(worker, 1).await.len(), 1, "the lane is not closed before the commit");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_changed_limit_gives_no_slot_twice_and_drops_the_old_wait(pool: PgPool) {
    let world = World::new(&pool).await;
    let slow = RateLimit { requests: 1, per_seconds: 3600 };
    let fast = RateLimit { requests: 10, per_seconds: 1 };
    let lane = world.lane_with(50, Some(slow)).await;
    let key = [lane.to_string()];
    let reserve = async || -> (Vec<i64>, i64) {
        sqlx::query_as("select slots_us, now_us from headgate.reserve_slots($1, 20, 500000)")
            .bind(key.as_slice())
            .fetch_one(&pool)
            .await
            .unwrap()
    };
    let mut connection = pool.acquire().await.unwrap();
    assert_eq!(reserve().await.0.len(), 1);
    lanes::set_limits(&mut connection, &key, &[fast]).await.unwrap();
    let next: i64 =
        sqlx::query_scalar("select tat_us from headgate.rate_limits").fetch_one(&pool).await.unwrap();
    let (none, now) = reserve().await;
    assert_eq!(none, [0; 0]);
    assert!(next - now < 1_000_000, "the old limit's hour is not waited for");
    sqlx::query("update headgate.rate_limits set tat_us = 0").execute(&pool).await.unwrap();
    let (first, _) = reserve().await;
    lanes::set_limits(&mut connection, &key, &[fast]).await.unwrap();
    let (second, _) = reserve().await;
    let spaced = first.iter().chain(&second).collect::<Vec<_>>();
    assert!(spaced.windows(2).all(|pair| pair[1] - pair[0] >= fast.emission_us()), "{spaced:?}");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_claim_takes_the_jobs_of_one_request_and_none_once_concurrency_is_reached(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let limit = RateLimit { requests: 1, per_seconds: 60 };
    let (free, limited) = (world.lane_with(4, None).await, world.lane_with(1, Some(limit)).await);
    sqlx::query("update headgate.lanes set jobs_per_request = 3").execute(&pool).await.unwrap();
    world.accept_plain(free, 20).await;
    let first = world.claim(worker, 50).await;
    assert_eq!(first.len(), 3, "the jobs of one request");
    assert_eq!(world.claim(worker, 50).await.len(), 3, "three jobs are at most three requests");
    assert_eq!(world.claim(worker, 50).await.len(), 0, "six jobs may be six requests");
    world.finish(&first.iter().map(|job| end(job, sent())).collect::<Vec<_>>()).await;
    assert_eq!(world.claim(worker, 2).await.len(), 2, "no more than wanted");
    assert_eq!(world.claim(worker, 50).await.len(), 0);

    world.accept_plain(limited, 20).await;
    assert_eq!(world.claim(worker, 50).await.len(), 3, "one slot is one request");
    world.must_be_sound().await;
}
