//! Attributes that may have arrived without a readable answer.

use std::sync::Arc;

use axum::http::Method;
use model::id::JobId;
use serde_json::json;
use sqlx::PgPool;
use tokio::sync::Notify;

use crate::support::{Receiver, Reply, World};

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_record_that_changes_back_after_an_uncertain_attempt_is_sent_again(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    world.set(json!({"a": 1, "b": 1})).await;
    world.run_until(1).await;
    receiver.next().await;

    // It accepts the change but answers 500.
    receiver.replies([Reply::With(500, vec![("retry-after", "1".into())], String::new())]);
    world.accept([json!({"type": "record.replaced", "attributes": {"a": 2, "b": 1, "c": 3}})]).await;
    world.run_until(1).await;
    assert_eq!(receiver.next().await.json()["changes"]["set"], json!({"a": 2, "c": 3}));

    world.accept([json!({"type": "record.replaced", "attributes": {"a": 1, "b": 1}})]).await;
    world.run_until(1).await;
    let again = receiver.next().await.json();
    assert_eq!(again["changes"], json!({"set": {"a": 1}, "unset": ["c"]}));
    assert_eq!(world.newest(shop).await.1.as_deref(), Some("sent"));

    // Nothing is uncertain any more: a change there and back needs no request.
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
    // A 404 counts as deleted when it is not known whether the record ever arrived.
    let last = receiver.rest().await.pop().unwrap();
    assert_eq!(last.method, Method::DELETE);
    assert_eq!(world.newest(rest).await.1.as_deref(), Some("sent"));
    let uncertain: i64 = sqlx::query_scalar("select count(*) from headgate.uncertain_records")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    assert_eq!(uncertain, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_refused_change_leaves_nothing_uncertain(pool: PgPool) {
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

async fn uncertain_records(world: &World) -> Vec<(String, Option<Vec<String>>)> {
    sqlx::query_as("select record_id, attributes from headgate.uncertain_records order by record_id")
        .fetch_all(&world.pool)
        .await
        .unwrap()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_request_whose_job_was_cancelled_leaves_its_record_uncertain(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    world.integration(json!({"endpoint_url": receiver.url})).await;
    let answer = Arc::new(Notify::new());
    receiver.replies([Reply::When(Arc::clone(&answer))]);
    world.set(json!({"a": 1})).await;
    let running = world.run();
    receiver.next().await;
    // Cancelled while its request is on its way: the worker drops it, and the answer is never read.
    let id: JobId = sqlx::query_scalar("select id from headgate.jobs").fetch_one(&world.pool).await.unwrap();
    let mut transaction = world.pool.begin().await.unwrap();
    queue::store::jobs::cancel(&mut transaction, world.scope, id).await.unwrap();
    transaction.commit().await.unwrap();
    running.until(1).await;
    running.stop().await;
    answer.notify_one();
    assert_eq!(uncertain_records(&world).await, [("1".to_owned(), None)]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_refused_attempt_does_not_make_a_lost_one_certain(pool: PgPool) {
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
    assert_eq!(uncertain_records(&world).await, [("1".to_owned(), None)]);

    // Changed back: it is not known what the system has, so everything is sent.
    world.set(json!({"a": 1})).await;
    world.run_until(1).await;
    assert_eq!(receiver.next().await.json()["changes"]["set"], json!({"a": 1, "b": 1}));
    assert_eq!(world.newest(shop).await.1.as_deref(), Some("sent"));
    assert!(uncertain_records(&world).await.is_empty());
}
