//! The sync status of an integration.

use model::{id::AppId, sync_status::SyncState};
use serde_json::json;
use sqlx::PgPool;

use crate::support::{Receiver, Reply, World};

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_status_includes_all_earlier_answers(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world
        .integration(json!({"endpoint_url": receiver.url, "rate_limit": {"requests": 100, "per_seconds": 1}}))
        .await;
    let status = async || world.status(shop).await;
    let empty = status().await;
    assert_eq!(
        (empty.sync_state, empty.records_total, empty.eta_seconds),
        (SyncState::NeverSynced, 0, Some(0))
    );
    assert_eq!(empty.rate_limit.map(|limit| limit.limit), Some(100));

    world.accept((0..3).map(|n| json!({"record_id": n.to_string(), "attributes": {"n": n}}))).await;
    let queued = status().await;
    assert_eq!(
        (queued.sync_state, queued.backlog, queued.records_total, queued.records_in_sync),
        (SyncState::Syncing, 3, 3, 0)
    );
    assert!(queued.oldest_pending_age_seconds.is_some());

    assert_eq!(queued.eta_seconds, Some(1), "nothing was measured yet: as fast as the limit allows");

    world.run_until(3).await;
    let done = status().await;
    assert_eq!((done.sync_state, done.backlog, done.records_in_sync), (SyncState::InSync, 0, 3));
    assert!(
        done.last_success_at.is_some()
            && done.last_error.is_none()
            && done.oldest_pending_age_seconds.is_none()
    );

    receiver.replies([Reply::Status(400)]);
    world.accept([json!({"record_id": "0", "attributes": {"n": 9}})]).await;
    world.run_until(1).await;
    let degraded = status().await;
    assert_eq!(
        (degraded.sync_state, degraded.dead_letters, degraded.records_in_sync),
        (SyncState::Degraded, 1, 2)
    );
    let error = degraded.last_error.unwrap();
    assert_eq!((error.message.as_str(), error.response_status), ("answered 400 Bad Request", Some(400)));

    let mut conn = world.pool.acquire().await.unwrap();
    world.delivery.pause_integration(&mut conn, world.scope, shop, Some("x")).await.unwrap();
    assert_eq!(status().await.sync_state, SyncState::Paused);
    assert!(world.status_for(AppId::generate(), shop).await.unwrap_err().is_not_found());
}
