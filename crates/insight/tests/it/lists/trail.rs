//! The trail of a record, a correlation or a key: every job, whichever table it is in.

use crate::support::{World, by_id, end, given_up, retried, sent};
use insight::store::trail::{self, TrailKeys};
use model::{actor::Scope, id::JobId, page::PageRequest, record::RecordKey, trail::TrailJob};
use queue::store::jobs::{JobSpec, deduplication_id};
use sqlx::PgPool;
use std::time::Duration;

async fn found(world: &World, keys: TrailKeys) -> Vec<TrailJob> {
    trail::trail(&world.pool, Scope::AllApps, &keys, PageRequest::default()).await.unwrap().items
}

fn ids(found: &[TrailJob]) -> Vec<JobId> {
    found.iter().map(|item| item.job.id).collect()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_records_trail_has_its_jobs_from_every_table(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let (done, dead, runs) = (world.lane().await, world.lane().await, world.lane().await);
    let spec = |lane, record: &str| JobSpec {
        deduplication_id: Some(deduplication_id("product", record)),
        correlation_id: format!("of {record}"),
        record: Some(("product".into(), record.into())),
        ..world.spec(lane)
    };
    let made: Vec<JobId> = world
        .accept(&[spec(done, "1"), spec(dead, "1"), spec(runs, "1"), spec(done, "2")])
        .await
        .into_iter()
        .map(|job| job.id)
        .collect();
    let leased = world.claim(worker, 10).await;
    world.finish(&[end(by_id(&leased, made[0]), sent()), end(by_id(&leased, made[1]), given_up())]).await;
    // A change that came while one is processed, and another one folded into that.
    let successor = world.accept(&[spec(runs, "1")]).await[0].id;
    world.accept(&[spec(runs, "1")]).await;
    let record =
        |id: &str| RecordKey { app_id: world.app_id, record_type: "product".into(), record_id: id.into() };
    let trail = found(&world, TrailKeys { records: vec![record("1")], ..TrailKeys::default() }).await;
    assert_eq!(ids(&trail), [successor, made[2], made[1], made[0]]);
    assert_eq!(trail[0].job.folded, 1);
    let both = TrailKeys { records: vec![record("1"), record("2")], ..TrailKeys::default() };
    assert_eq!(found(&world, both).await.len(), 5);
    let correlated = TrailKeys { correlation_id: Some("of 1".into()), ..TrailKeys::default() };
    assert_eq!(ids(&found(&world, correlated).await), ids(&trail));
    assert_eq!(found(&world, TrailKeys::default()).await, []);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn failures_are_counted_across_requeues_and_after_a_success(pool: PgPool) {
    let world = World::new(&pool).await;
    let (lane, worker) = (world.lane().await, world.worker().await);
    let id =
        world.accept(&[JobSpec { deduplication_id: Some("nightly".into()), ..world.spec(lane) }]).await[0].id;
    for ending in [retried(Duration::ZERO), given_up()] {
        world.let_time_pass().await;
        let leased = world.claim(worker, 1).await;
        world.finish(&[end(&leased[0], ending)]).await;
    }
    let keys = TrailKeys { deduplication_id: Some("nightly".into()), ..TrailKeys::default() };
    let dead = found(&world, keys.clone()).await;
    assert_eq!((ids(&dead), dead[0].failed_attempts, dead[0].requeues), (vec![id], 2, 0));
    world.requeue(id).await.unwrap();
    let leased = world.claim(worker, 1).await;
    world.finish(&[end(&leased[0], retried(Duration::ZERO))]).await;
    world.let_time_pass().await;
    let leased = world.claim(worker, 1).await;
    world.finish(&[end(&leased[0], sent())]).await;
    let finished = found(&world, keys).await;
    assert_eq!((ids(&finished), finished[0].failed_attempts, finished[0].requeues), (vec![id], 3, 1));
    assert!(finished[0].last_error.is_some(), "a success does not hide what came before it");
}
