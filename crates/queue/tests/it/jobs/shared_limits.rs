//! Integrations that share a limit: a claim takes no more from all of them together than the limit allows.

use crate::support::World;
use model::{id::IntegrationId, rate_limit::RateLimit};
use queue::store::jobs::{self, ClaimRequest, ClaimedJob};
use queue::store::lanes::{self, Lane};
use sqlx::PgPool;
use std::collections::{BTreeMap, HashMap};

const ACCOUNT: &str = "account";

/// A lane to which these limits apply.
async fn lane(world: &World, keys: &[&str]) -> IntegrationId {
    let integration_id = world.lane().await;
    let lane = Lane {
        integration_id,
        app_id: world.app_id,
        is_external: false,
        is_open: true,
        max_concurrency: 50,
        jobs_per_request: 1,
        limit_keys: keys.iter().map(|&key| key.to_owned()).collect(),
    };
    lanes::upsert(&mut world.pool.acquire().await.unwrap(), &lane).await.unwrap();
    integration_id
}

async fn limit(world: &World, key: &str, requests: i32, per_seconds: i32) {
    let mut connection = world.pool.acquire().await.unwrap();
    let limit = RateLimit { requests, per_seconds };
    lanes::set_limits(&mut connection, &[key.to_owned()], &[limit]).await.unwrap();
}

fn by_lane(claimed: &[ClaimedJob]) -> BTreeMap<IntegrationId, usize> {
    let mut counts = BTreeMap::new();
    for job in claimed {
        *counts.entry(job.integration_id).or_default() += 1;
    }
    counts
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn lanes_of_one_limit_divide_its_slots(pool: PgPool) {
    let world = World::new(&pool).await;
    // A slot every 96 ms, claimed half a second ahead: 6.
    limit(&world, ACCOUNT, 11, 1).await;
    let mut sharing = Vec::new();
    for _ in 0..4 {
        sharing.push(lane(&world, &[ACCOUNT]).await);
    }
    let (idle, free) = (sharing.pop().unwrap(), world.lane().await);
    for lane in sharing.iter().chain([&free]) {
        world.accept_plain(*lane, 20).await;
    }
    let taken = by_lane(&world.claim(world.worker().await, 100).await);
    assert_eq!(taken[&free], 20, "it has no limit");
    assert_eq!(sharing.iter().map(|lane| taken[lane]).collect::<Vec<_>>(), [2, 2, 2]);
    assert!(!taken.contains_key(&idle), "a lane without work gets no share");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn lanes_that_share_one_slot_get_it_in_turn(pool: PgPool) {
    let world = World::new(&pool).await;
    limit(&world, ACCOUNT, 1, 86_400).await;
    let mut lanes = Vec::new();
    for _ in 0..3 {
        lanes.push(lane(&world, &[ACCOUNT]).await);
        world.accept_plain(lanes[lanes.len() - 1], 5).await;
    }
    let worker = world.worker().await;
    for _ in 0..2 {
        let mut served = Vec::new();
        for _ in 0..3 {
            // Nothing is sent, so that the slot stays free.
            let claimed = world.claim(worker, 10).await;
            assert_eq!(claimed.len(), 1);
            served.push(claimed[0].integration_id);
        }
        served.sort();
        assert_eq!(served, lanes, "each once");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_narrowest_of_several_limits_applies_whoever_shares_it(pool: PgPool) {
    let world = World::new(&pool).await;
    limit(&world, ACCOUNT, 11, 1).await;
    limit(&world, "its own", 1, 86_400).await;
    limit(&world, "used up", 1, 86_400).await;
    sqlx::query("update headgate.rate_limits set quiet_until_us = 9e18 where key = 'used up'")
        .execute(&pool)
        .await
        .unwrap();
    let narrow = lane(&world, &["its own", ACCOUNT]).await;
    let wide = lane(&world, &[ACCOUNT]).await;
    let none = lane(&world, &["used up", ACCOUNT]).await;
    for lane in [narrow, wide, none] {
        world.accept_plain(lane, 20).await;
    }
    let taken = by_lane(&world.claim(world.worker().await, 100).await);
    assert_eq!(
        taken,
        BTreeMap::from([(narrow, 1), (wide, 3)]),
        "half of the six slots each, but the narrow one has a limit of one"
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_lane_that_may_take_no_more_leaves_the_slot_to_others(pool: PgPool) {
    let world = World::new(&pool).await;
    limit(&world, ACCOUNT, 1, 86_400).await;
    let (full, other, free) =
        (lane(&world, &[ACCOUNT]).await, lane(&world, &[ACCOUNT]).await, world.lane().await);
    for lane in [full, other, free] {
        world.accept_plain(lane, 5).await;
    }
    // The first lane was served longest ago, but this process already runs as many of its jobs as it may.
    sqlx::query("update headgate.lanes set last_claimed_at = case when integration_id = $1 then now() - interval '1 hour' else now() end")
        .bind(full.0)
        .execute(&pool)
        .await
        .unwrap();
    let claims = ClaimRequest {
        worker_id: world.worker().await,
        wanted: 5,
        lane_cap: 5,
        busy: HashMap::from([(full, 5)]),
        program: None,
    };
    let taken = by_lane(&jobs::claim(&pool, &claims).await.unwrap());
    assert_eq!(taken.get(&other), Some(&1), "{taken:?}");
    assert!(!taken.contains_key(&full));
}
