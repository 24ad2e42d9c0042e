//! Integrations that pass one limit together: a claim takes no more of all of them than the limit lets go.

use crate::support::World;
use model::{id::IntegrationId, rate_limit::RateLimit};
use queue::store::{
    jobs::{self, ClaimRequest, ClaimedJob},
    lanes::{self, Lane},
};
use sqlx::PgPool;
use std::collections::{BTreeMap, HashMap};

const ACCOUNT: &str = "account";

/// A lane that passes these limits.
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
    // A slot each 96 ms, looked at half a second ahead: 6.
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
    assert_eq!(taken[&free], 20, "no limit of its own or of others");
    assert_eq!(sharing.iter().map(|lane| taken[lane]).collect::<Vec<_>>(), [2, 2, 2]);
    assert!(!taken.contains_key(&idle), "who has no work has no part");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn where_there_is_one_slot_for_many_each_gets_it_in_turn(pool: PgPool) {
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
async fn the_narrowest_of_several_limits_holds_whoever_shares_it(pool: PgPool) {
    let world = World::new(&pool).await;
    limit(&world, ACCOUNT, 11, 1).await;
    limit(&world, "its own", 1, 86_400).await;
    limit(&world, "used up", 1, 86_400).await;
    sqlx::query("update headgate.rate_limits set hold_until_us = 9e18 where key = 'used up'")
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
    assert_eq!(taken, BTreeMap::from([(narrow, 1), (wide, 3)]), "three each of two, were it not for its own");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn whoever_may_take_no_more_leaves_the_slot_to_the_others(pool: PgPool) {
    let world = World::new(&pool).await;
    limit(&world, ACCOUNT, 1, 86_400).await;
    let (full, other, free) =
        (lane(&world, &[ACCOUNT]).await, lane(&world, &[ACCOUNT]).await, world.lane().await);
    for lane in [full, other, free] {
        world.accept_plain(lane, 5).await;
    }
    // The first was served longest ago, but this process holds all that it may of it.
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
