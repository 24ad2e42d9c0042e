//! Jobs of one serialize key run one at a time, in the order of acceptance.

use crate::support::{World, end, given_up, retried, sent};
use queue::store::jobs::{ClaimedJob, JobSpec};
use sqlx::PgPool;
use std::time::Duration;

fn of(world: &World, lane: model::id::IntegrationId, key: &str) -> JobSpec {
    JobSpec { serialize_key: Some(key.into()), ..world.spec(lane) }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_key_runs_in_order_one_at_a_time_and_a_waiting_head_keeps_it(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let ids: Vec<_> = world
        .accept(&[
            of(&world, lane, "k"),
            of(&world, lane, "k"),
            of(&world, lane, "other"),
            of(&world, lane, "k"),
        ])
        .await
        .into_iter()
        .map(|job| job.id)
        .collect();
    let claim = async || -> Vec<ClaimedJob> { world.claim(worker, 10).await };
    let held = claim().await;
    assert_eq!(held.iter().map(|job| job.id).collect::<Vec<_>>(), [ids[0], ids[2]]);
    world.finish(&[end(&held[0], retried(Duration::from_secs(60)))]).await;
    assert_eq!(claim().await.len(), 0, "the head waits and keeps the key");
    world.must_be_sound().await;
    world.let_time_pass().await;
    let held = claim().await;
    assert_eq!(held[0].id, ids[0]);
    world.finish(&[end(&held[0], sent())]).await;
    let held = claim().await;
    assert_eq!(held.iter().map(|job| job.id).collect::<Vec<_>>(), [ids[1]]);
    // A dead letter lets the next one go, a cancel too.
    world.finish(&[end(&held[0], given_up())]).await;
    let later = world.accept(&[of(&world, lane, "k")]).await[0].id;
    world.cancel(ids[3]).await.unwrap();
    let held = claim().await;
    assert_eq!(held.iter().map(|job| job.id).collect::<Vec<_>>(), [later]);
    // What is requeued goes to the end of the line.
    world.requeue(ids[1]).await.unwrap();
    assert_eq!(claim().await.len(), 0);
    world.finish(&[end(&held[0], sent())]).await;
    let held = claim().await;
    assert_eq!(held[0].id, ids[1]);
    world.finish(&[end(&held[0], sent())]).await;
    world.must_be_sound().await;
    assert_eq!(world.number("select count(*) from headgate.serialized_jobs where key = 'k'").await, 0);
    assert_eq!(world.number("select count(*) from headgate.serialize_keys where key = 'k'").await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn many_claimers_keep_the_order_of_every_key(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(1_000, None).await;
    let mut expected = Vec::new();
    for n in 0..60 {
        let key = (n % 4).to_string();
        expected.push((key.clone(), world.accept(&[of(&world, lane, &key)]).await[0].id));
    }
    let order = tokio::sync::Mutex::new(Vec::new());
    let claimer = async || {
        let worker = world.worker().await;
        while order.lock().await.len() < 60 {
            for job in world.claim(worker, 3).await {
                order.lock().await.push((job.serialize_key.clone().unwrap(), job.id));
                world.finish(&[end(&job, sent())]).await;
            }
        }
    };
    tokio::join!(claimer(), claimer(), claimer());
    let order = order.into_inner();
    for key in ["0", "1", "2", "3"] {
        let of_key = |list: &[(String, _)]| {
            list.iter().filter(|(k, _)| k == key).map(|(_, id)| *id).collect::<Vec<model::id::JobId>>()
        };
        assert_eq!(of_key(&order), of_key(&expected), "key {key}");
    }
    world.must_be_sound().await;
}
