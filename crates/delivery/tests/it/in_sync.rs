//! The kept number of records an integration has in their current version always equals a count of equal versions.

use std::sync::Arc;

use model::{deletion::DeleteOptions, id::IntegrationId, sync_status::SyncState};
use serde_json::json;
use sqlx::PgPool;
use tokio::sync::Notify;

use crate::support::{Receiver, Reply, World};

/// The number in the status, checked against a count of rows.
async fn in_sync(world: &World, shop: IntegrationId) -> i64 {
    let reported = world.status(shop).await.records_in_sync;
    let counted: i64 = sqlx::query_scalar(
        "select count(*) from headgate.sent_records s
         join headgate.records r on r.record_type = s.record_type and r.record_id = s.record_id and r.version = s.version
         where s.integration_id = $1 and r.app_id = $2 and r.deleted_at is null",
    )
    .bind(shop)
    .bind(world.app)
    .fetch_one(&world.pool)
    .await
    .unwrap();
    assert_eq!(reported, counted);
    reported
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_number_in_sync_is_exact_after_every_kind_of_change(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    let mirror = world.integration(json!({"endpoint_url": receiver.url, "name": "Mirror"})).await;
    let both = async || (in_sync(&world, shop).await, in_sync(&world, mirror).await);

    world.accept((0..5).map(|n| json!({"record_id": n.to_string(), "attributes": {"n": n}}))).await;
    assert_eq!(both().await, (0, 0));
    world.run_until(10).await;
    assert_eq!(both().await, (5, 5));

    // Several changes of one record count once, and an event that changes nothing does not count.
    world.accept((0..3).map(|n| json!({"record_id": "0", "attributes": {"n": n + 10}}))).await;
    world.accept([json!({"record_id": "1", "attributes": {"n": 1}})]).await;
    assert_eq!(both().await, (4, 4));
    // Changed there and back: nothing is sent, and it is in sync again.
    world.accept([json!({"record_id": "2", "attributes": {"n": 9}})]).await;
    world.accept([json!({"record_id": "2", "attributes": {"n": 2}})]).await;
    assert_eq!(both().await, (3, 3));
    world.run_until(4).await;
    assert_eq!(both().await, (5, 5));
    assert_eq!(receiver.rest().await.len(), 12);

    // A deletion, and a record that is created again before the deletion was sent.
    world.accept([json!({"record_id": "3", "type": "record.deleted"})]).await;
    assert_eq!(both().await, (4, 4));
    world.accept([json!({"record_id": "3", "attributes": {"n": 3}})]).await;
    assert_eq!(both().await, (4, 4));
    world.accept([json!({"record_id": "4", "type": "record.deleted"})]).await;
    world.run_until(4).await;
    assert_eq!(both().await, (4, 4));

    // Nothing is sent to a disabled integration, nor to one of other types; what they have becomes out of date all the same.
    world.patch(shop, json!({"state": "disabled"})).await;
    world.patch(mirror, json!({"record_types": ["order"]})).await;
    world.accept([json!({"record_id": "0", "attributes": {"n": 99}})]).await;
    assert_eq!(in_sync(&world, shop).await, 3);
    let of_other_types = world.status(mirror).await;
    assert_eq!((of_other_types.records_total, of_other_types.records_in_sync), (0, 0));
    world.patch(mirror, json!({"record_types": null})).await;
    assert_eq!(in_sync(&world, mirror).await, 3);

    let mut transaction = world.pool.begin().await.unwrap();
    world
        .delivery
        .delete_integration(&mut transaction, world.scope, mirror, &DeleteOptions::default(), "test")
        .await
        .unwrap();
    transaction.commit().await.unwrap();
    let left = "select count(distinct integration_id) from
        (select integration_id from headgate.in_sync_counts union all select integration_id from headgate.in_sync_count_deltas) kept";
    assert_eq!(world.number(left).await, 1);
}

/// Above 100,000 records the number was once derived from outstanding jobs, of which there are none here.
#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn however_many_records_there_are_what_was_never_sent_is_not_in_sync(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    sqlx::query(
        "with old as (
             insert into headgate.records (app_id, record_type, record_id, attributes, attribute_bytes)
             select $1, 'product', 'old-' || n, '{}', 2 from generate_series(1, 150000) n returning 1
         )
         insert into headgate.record_counts (app_id, record_type, n) select $1, 'product', count(*) from old",
    )
    .bind(world.app)
    .execute(&world.pool)
    .await
    .unwrap();
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    let status = async || {
        let status = world.status(shop).await;
        (status.sync_state, status.records_total, status.records_in_sync)
    };
    assert_eq!(status().await, (SyncState::NeverSynced, 150_000, 0));
    world.set(json!({"n": 1})).await;
    assert_eq!(status().await, (SyncState::Syncing, 150_001, 0));
    world.run_until(1).await;
    assert_eq!(status().await, (SyncState::Degraded, 150_001, 1));
}

/// A change that comes while the receipt of the previous version is being recorded: the record is counted once, whichever gets the job's row first.
#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_change_concurrent_with_its_predecessors_receipt_is_counted_once(pool: PgPool) {
    for is_receipt_first in [true, false] {
        let (world, receiver) = (World::new(pool.clone()).await, Receiver::start().await);
        let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
        let answer = Arc::new(Notify::new());
        receiver.replies([Reply::When(Arc::clone(&answer))]);
        world.set(json!({"a": 1})).await;
        let running = world.run();
        receiver.next().await;

        // Both wait for the job's row, which is locked here; they get it in the order in which they asked.
        let mut holding = world.pool.begin().await.unwrap();
        sqlx::query("select from headgate.jobs where integration_id = $1 for update")
            .bind(shop)
            .execute(&mut *holding)
            .await
            .unwrap();
        let one_waits = "select count(*) = 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
        let both_wait = "select count(*) = 2 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
        if is_receipt_first {
            answer.notify_one();
            world.until(one_waits).await;
        }
        let accepting = async {
            world.set(json!({"a": 2})).await;
        };
        let releasing = async {
            if is_receipt_first {
                world.until(both_wait).await;
            } else {
                world.until(one_waits).await;
                answer.notify_one();
                world.until(both_wait).await;
            }
            holding.rollback().await.unwrap();
        };
        tokio::join!(accepting, releasing);
        running.until(2).await;
        running.stop().await;
        assert_eq!(in_sync(&world, shop).await, 1, "{is_receipt_first}");
    }
}
