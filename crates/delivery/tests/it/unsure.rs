//! What may have arrived although nobody said so.

use std::sync::Arc;

use axum::http::Method;
use model::id::JobId;
use serde_json::json;
use sqlx::PgPool;
use tokio::sync::Notify;

use crate::support::{Receiver, Reply, World};

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_record_that_changes_back_after_a_doubtful_attempt_is_told_again(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    world.set(json!({"a": 1, "b": 1})).await;
    world.run_until(1).await;
    receiver.next().await;

    // It takes the change in and answers 500 all the same.
    receiver.replies([Reply::With(500, vec![("retry-after", "1".into())], String::new())]);
    world.accept([json!({"type": "record.replaced", "attributes": {"a": 2, "b": 1, "c": 3}})]).await;
    world.run_until(1).await;
    assert_eq!(receiver.next().await.json()["changes"]["set"], json!({"a": 2, "c": 3}));

    world.accept([json!({"type": "record.replaced", "attributes": {"a": 1, "b": 1}})]).await;
    world.run_until(1).await;
    let again = receiver.next().await.json();
    assert_eq!(again["changes"], json!({"set": {"a": 1}, "unset": ["c"]}));
    assert_eq!(world.newest(shop).await.1.as_deref(), Some("sent"));

    // Settled: the same again is nothing to tell.
    world.set(json!({"a": 5})).await;
    world.set(json!({"a": 1})).await;
    world.run_until(1).await;
    assert_eq!(world.newest(shop).await.1.as_deref(), Some("unchanged"));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_record_that_may_have_arrived_is_deleted_there_too(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let url = receiver.url.clone();
    let rest =
        world.integration(json!({"integration_type": "rest", "endpoint_url": url, "timeout_ms": 200})).await;
    receiver.replies([Reply::Hang]);
    world.set(json!({"a": 1})).await;
    world.run_until(1).await;
    assert_eq!(receiver.next().await.method, Method::PUT);
    receiver.answers(Reply::Status(404));
    world.accept([json!({"type": "record.deleted"})]).await;
    world.run_until(1).await;
    // "Not found" is as good as deleted when nobody knows whether it was ever there.
    let last = receiver.rest().await.pop().unwrap();
    assert_eq!(last.method, Method::DELETE);
    assert_eq!(world.newest(rest).await.1.as_deref(), Some("sent"));
    let unsure: i64 = sqlx::query_scalar("select count(*) from headgate.unsure_records")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    assert_eq!(unsure, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_refused_change_leaves_no_doubt(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    world.set(json!({"a": 1})).await;
    world.run_until(1).await;
    receiver.replies([Reply::Status(422)]);
    world.set(json!({"a": 2})).await;
    world.run_until(1).await;
    world.set(json!({"a": 1})).await;
    world.run_until(1).await;
    assert_eq!(world.newest(shop).await.1.as_deref(), Some("unchanged"));
    assert_eq!(receiver.rest().await.len(), 2);
}

async fn doubts(world: &World) -> Vec<(String, Option<Vec<String>>)> {
    sqlx::query_as("select record_id, attributes from headgate.unsure_records order by record_id")
        .fetch_all(&world.pool)
        .await
        .unwrap()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_was_on_its_way_when_its_job_was_called_off_leaves_a_doubt(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    world.integration(json!({"endpoint_url": receiver.url})).await;
    let answer = Arc::new(Notify::new());
    receiver.replies([Reply::When(Arc::clone(&answer))]);
    world.set(json!({"a": 1})).await;
    let running = world.run();
    receiver.next().await;
    // Called off while it is on its way: its worker lets go of it, and nobody hears whether it was accepted.
    let id: JobId = sqlx::query_scalar("select id from headgate.jobs").fetch_one(&world.pool).await.unwrap();
    let mut transaction = world.pool.begin().await.unwrap();
    queue::store::jobs::cancel(&mut transaction, world.scope, id).await.unwrap();
    transaction.commit().await.unwrap();
    running.until(1).await;
    running.stop().await;
    answer.notify_one();
    assert_eq!(doubts(&world).await, [("1".to_owned(), None)]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_vanished_attempt_is_not_forgotten_by_a_refused_one(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    world.set(json!({"a": 1, "b": 1})).await;
    world.run_until(1).await;
    receiver.next().await;

    // A worker sent {"a": 2} and died; the next attempt is refused for good.
    world.set(json!({"a": 2})).await;
    sqlx::query("update headgate.jobs set may_have_arrived = true").execute(&world.pool).await.unwrap();
    receiver.replies([Reply::Status(422)]);
    world.run_until(1).await;
    assert_eq!(receiver.next().await.json()["changes"]["set"], json!({"a": 2, "b": 1}));
    assert_eq!(doubts(&world).await, [("1".to_owned(), None)]);

    // Changed back: nobody knows what is there, so everything is told.
    world.set(json!({"a": 1})).await;
    world.run_until(1).await;
    assert_eq!(receiver.next().await.json()["changes"]["set"], json!({"a": 1, "b": 1}));
    assert_eq!(world.newest(shop).await.1.as_deref(), Some("sent"));
    assert!(doubts(&world).await.is_empty());
}
