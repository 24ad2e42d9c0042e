//! Re-syncs.

use std::{sync::Arc, time::Duration};

use delivery::{DeliveryConfig, DeliveryError};
use model::id::{IntegrationId, ResyncId, WorkerId};
use model::resync::{Resync, ResyncStarted, ResyncState};
use model::retention::Retentions;
use queue::store::leader;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, PgPool};
use tokio::sync::Notify;

use crate::support::{Receiver, Reply, World, faults};

pub(crate) async fn start(
    world: &World,
    id: IntegrationId,
    wanted: Value,
) -> Result<ResyncStarted, DeliveryError> {
    let mut transaction = world.pool.begin().await.unwrap();
    let wanted = serde_json::from_value(wanted).unwrap();
    let started = world.delivery.start_resync(&mut transaction, world.scope, id, wanted, "test").await?;
    transaction.commit().await.unwrap();
    Ok(started)
}

pub(crate) async fn get(world: &World, id: ResyncId) -> Resync {
    world.delivery.resync(world.scope, id).await.unwrap()
}

/// Runs the leader's services until nothing is left to do at once.
pub(crate) async fn maintain(world: &World) {
    let mut conn = world.pool.acquire().await.unwrap();
    let holder = WorkerId::generate();
    let term = leader::acquire(&mut conn, holder, Duration::from_secs(60)).await.unwrap().unwrap();
    for service in world.delivery.services(Retentions::default()) {
        while service.run_once(&world.pool, term).await.unwrap() {}
    }
    leader::release(&mut conn, term).await.unwrap();
}

/// Whether the work sign says that there is something to do.
async fn is_seen(world: &World) -> bool {
    let services = world.delivery.services(Retentions::default());
    let resyncs = services.iter().find(|service| service.name() == "resyncs").unwrap();
    let sign = resyncs.sign().unwrap();
    sqlx::query_scalar(AssertSqlSafe(format!("select ({sign})"))).fetch_one(&world.pool).await.unwrap()
}

pub(crate) fn products(n: i64) -> impl Iterator<Item = Value> {
    (0..n).map(|n| json!({"record_id": format!("{n:05}"), "attributes": {"n": n}}))
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_full_resync_makes_a_new_integration_equal_to_the_source(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    for portion in 0..3 {
        let events = (0..400).map(|n| json!({"record_id": format!("{portion}-{n}"), "attributes": {"n": n}}));
        world.accept(events).await;
    }
    world
        .accept([
            json!({"record_id": "0-7", "type": "record.deleted"}),
            json!({"record_type": "order", "attributes": {}}),
        ])
        .await;
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    assert!(world.jobs(shop).await.is_empty());
    assert!(!is_seen(&world).await);
    let started = start(&world, shop, json!({})).await.unwrap();
    assert!(is_seen(&world).await);
    // The first portion is made at once: a thousand keys, one of them deleted and never sent.
    assert_eq!(get(&world, started.resync_id).await.total, 999);
    maintain(&world).await;
    assert_eq!(get(&world, started.resync_id).await.total, 1_200);
    assert_eq!(get(&world, started.resync_id).await.state, ResyncState::Running);
    world.run_until(1_200).await;
    maintain(&world).await;
    let done = get(&world, started.resync_id).await;
    assert_eq!((done.state, done.total, done.done, done.failed), (ResyncState::Completed, 1_200, 1_200, 0));
    assert!(done.finished_at.is_some() && done.eta_seconds.is_none());
    assert!(!is_seen(&world).await);
    let status = world.status(shop).await;
    assert_eq!((status.records_total, status.records_in_sync), (1_200, 1_200));
    let bodies = receiver.rest().await;
    assert!(bodies.iter().all(|request| request.json()["full"] == json!(true)));
    assert_eq!(bodies.len(), 1_200);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_resync_covers_what_was_asked_for(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    world.accept(products(5)).await;
    world.accept([json!({"record_type": "order", "attributes": {"a": 1}})]).await;
    world.run_until(6).await;
    receiver.replies([Reply::Status(400)]);
    world.accept([json!({"record_id": "00002", "attributes": {"n": 99}})]).await;
    world.run_until(1).await;
    receiver.rest().await;

    for (wanted, records) in [
        (json!({"record_type": "order"}), 1),
        (json!({"record_type": "product", "record_ids": ["00001", "00003", "nobody", "00001"]}), 2),
        (json!({"mode": "full"}), 6),
    ] {
        let started = start(&world, shop, wanted.clone()).await.unwrap();
        world.run_until(records).await;
        maintain(&world).await;
        let done = get(&world, started.resync_id).await;
        assert_eq!((done.state, done.done), (ResyncState::Completed, records.cast_signed()), "{wanted}");
        let sent = receiver.rest().await;
        assert!(sent.iter().all(|request| request.json()["full"] == json!(true)));
        assert_eq!(sent.len() as u64, records, "{wanted}");
    }
    // The integration has everything now: nothing is out of date.
    let started = start(&world, shop, json!({"mode": "changed"})).await.unwrap();
    maintain(&world).await;
    assert_eq!(
        (get(&world, started.resync_id).await.total, get(&world, started.resync_id).await.state),
        (0, ResyncState::Completed)
    );
    // A re-sync sends a deletion again whose job failed.
    receiver.replies([Reply::Status(400)]);
    world.accept([json!({"record_id": "00004", "type": "record.deleted"})]).await;
    world.run_until(1).await;
    receiver.rest().await;
    start(&world, shop, json!({"mode": "changed"})).await.unwrap();
    world.run_until(1).await;
    assert_eq!(receiver.next().await.json()["type"], "record.deleted");
    maintain(&world).await;
    // A record that was refused is sent again whole, although the integration has a version of it.
    receiver.replies([Reply::Status(400)]);
    world.accept([json!({"record_id": "00003", "attributes": {"new": true}})]).await;
    world.run_until(1).await;
    assert_eq!(receiver.next().await.json()["full"], json!(false));
    start(&world, shop, json!({"mode": "changed"})).await.unwrap();
    world.run_until(1).await;
    let again = receiver.next().await.json();
    assert_eq!((&again["full"], &again["changes"]["set"]), (&json!(true), &json!({"n": 3, "new": true})));
    assert_eq!(world.sent(shop).await.len(), 5);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn types_are_read_one_after_another(pool: PgPool) {
    let world = World::new(pool).await;
    for kind in ["a", "b", "c", "d"] {
        world
            .accept(
                (0..700).map(|n| json!({"record_type": kind, "record_id": n.to_string(), "attributes": {}})),
            )
            .await;
    }
    let shop = world
        .integration(
            json!({"endpoint_url": "https://shop.invalid/", "record_types": ["d", "nothing", "b", "a"]}),
        )
        .await;
    let started = start(&world, shop, json!({})).await.unwrap();
    maintain(&world).await;
    assert_eq!(get(&world, started.resync_id).await.total, 2_100);
    assert_eq!(faults(start(&world, shop, json!({"record_type": "c"})).await), ["/record_type"]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_same_resync_is_not_started_twice(pool: PgPool) {
    let world = World::with(pool, DeliveryConfig::default(), &["127.0.0.0/8"]).await;
    world.accept(products(2)).await;
    let shop = world.integration(json!({"endpoint_url": "https://shop.invalid/"})).await;
    let first = start(&world, shop, json!({})).await.unwrap();
    let error = start(&world, shop, json!({"mode": "changed"})).await.unwrap_err();
    assert!(matches!(error, DeliveryError::Conflict { code: "resync-running", .. }));
    start(&world, shop, json!({"record_type": "product"})).await.unwrap();
    let mut conn = world.pool.acquire().await.unwrap();
    world.delivery.cancel_resync(&mut conn, world.scope, first.resync_id).await.unwrap();
    drop(conn);
    let error = start(&world, shop, json!({})).await.unwrap_err();
    assert!(
        matches!(error, DeliveryError::TooSoon { retry_after } if retry_after.as_secs() > 5 && retry_after.as_secs() <= 10)
    );
    sqlx::query("update headgate.resyncs set finished_at = finished_at - interval '10 seconds' where finished_at is not null")
        .execute(&world.pool)
        .await
        .unwrap();
    start(&world, shop, json!({})).await.unwrap();
    let external = world.integration(json!({"integration_type": "external"})).await;
    let error = start(&world, external, json!({})).await.unwrap_err();
    assert!(matches!(error, DeliveryError::Conflict { code: "external", .. }));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_paused_resync_makes_no_further_jobs(pool: PgPool) {
    let world = World::new(pool).await;
    for portion in 0..3 {
        world
            .accept((0..700).map(|n| json!({"record_id": format!("{portion}-{n}"), "attributes": {}})))
            .await;
    }
    let shop = world.integration(json!({"endpoint_url": "https://shop.invalid/"})).await;
    let started = start(&world, shop, json!({})).await.unwrap();
    let mut conn = world.pool.acquire().await.unwrap();
    let paused = world.delivery.pause_resync(&mut conn, world.scope, started.resync_id).await.unwrap();
    assert_eq!((paused.state, paused.total), (ResyncState::Paused, 1_000));
    maintain(&world).await;
    assert_eq!(get(&world, started.resync_id).await.total, 1_000);
    world.delivery.resume_resync(&mut conn, world.scope, started.resync_id).await.unwrap();
    maintain(&world).await;
    assert_eq!(get(&world, started.resync_id).await.total, 2_100);
    let cancelled = world.delivery.cancel_resync(&mut conn, world.scope, started.resync_id).await.unwrap();
    assert_eq!(cancelled.state, ResyncState::Cancelled);
    drop(conn);
    maintain(&world).await;
    let live: i64 =
        sqlx::query_scalar("select count(*) from headgate.jobs").fetch_one(&world.pool).await.unwrap();
    assert_eq!(live, 0);
    let mut conn = world.pool.acquire().await.unwrap();
    let error = world.delivery.resume_resync(&mut conn, world.scope, started.resync_id).await.unwrap_err();
    assert!(matches!(error, DeliveryError::Conflict { code: "wrong-state", .. }));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_cancelled_resync_loses_no_live_change(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    world.accept(products(4)).await;
    world.run_until(4).await;
    receiver.rest().await;
    let started = start(&world, shop, json!({})).await.unwrap();
    world.accept([json!({"record_id": "00002", "attributes": {"n": 77}})]).await;
    let mut conn = world.pool.acquire().await.unwrap();
    world.delivery.cancel_resync(&mut conn, world.scope, started.resync_id).await.unwrap();
    drop(conn);
    maintain(&world).await;
    world.run_until(1).await;
    let sent = receiver.rest().await;
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].json()["changes"]["set"], json!({"n": 77}));
    assert_eq!(sent[0].json()["full"], json!(false));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn cancelling_a_resync_leaves_what_is_being_processed_alone(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    let answer = Arc::new(Notify::new());
    receiver.replies([Reply::When(Arc::clone(&answer))]);
    world.set(json!({"a": 1})).await;
    let running = world.run();
    receiver.next().await;
    let started = start(&world, shop, json!({})).await.unwrap();
    let behind = || {
        sqlx::query_as::<_, (i16, Option<String>)>(
            "select status, successor ->> 'batch_id' from headgate.jobs",
        )
        .fetch_all(&world.pool)
    };
    assert!(matches!(behind().await.unwrap().as_slice(), [(1, Some(_))]));
    let mut transaction = world.pool.begin().await.unwrap();
    world.delivery.cancel_resync(&mut transaction, world.scope, started.resync_id).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(behind().await.unwrap(), [(1, None)]);
    answer.notify_one();
    running.until(2).await;
    running.stop().await;
    assert_eq!(world.sent(shop).await.len(), 1);
    let ends: Vec<_> = world.jobs(shop).await.into_iter().map(|job| (job.outcome, job.batch_id)).collect();
    assert_eq!(ends, [(Some("sent".to_owned()), None), (Some("sent".to_owned()), None)]);
    maintain(&world).await;
    assert_eq!(get(&world, started.resync_id).await.state, ResyncState::Cancelled);
}
