//! A bundle that takes several requests: what an answer means for items that were not sent yet.

use std::sync::Arc;

use model::integration::IntegrationState;
use serde_json::json;
use sqlx::PgPool;
use tokio::sync::Notify;

use crate::bundles::{bundle, records, set};
use crate::support::{Receiver, Reply, Running, World};

/// Sends the first request of the bundle; its answer is a refusal, sent after the notification.
async fn first_request_under_way(world: &World, receiver: &Receiver) -> (Running, Arc<Notify>) {
    let answer = Arc::new(Notify::new());
    receiver.replies([Reply::RefuseWhen(Arc::clone(&answer))]);
    world.let_time_pass().await;
    let running = world.run();
    receiver.next().await;
    (running, answer)
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_item_refused_with_others_stays_uncertain_until_its_own_answer(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    bundle(&world, &receiver, json!({})).await;
    for id in ["1", "2"] {
        set(&world, id, json!(1)).await;
    }
    let slow_down = Reply::With(429, vec![("retry-after", "1000".into())], String::new());
    receiver.replies([Reply::Status(400), slow_down]);
    world.let_time_pass().await;
    world.run_until(2).await;
    let requests = receiver.rest().await;
    assert_eq!(requests.iter().map(records).collect::<Vec<_>>(), [vec!["1", "2"], vec!["1"]]);
    let uncertain = "select count(*) from headgate.uncertain_records";
    assert_eq!(world.number(uncertain).await, 2, "the first request may have been accepted in part");
    // The item that was not sent is released until after the quiet time, no matter when that is written.
    let quiet = "select count(*) from headgate.jobs j join headgate.waiting w on w.job_id = j.id
        where j.attempt = 0 and w.due_at > clock_timestamp() + interval '900 seconds'";
    assert_eq!(world.number(quiet).await, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_pause_between_two_requests_releases_the_rest(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let made = bundle(&world, &receiver, json!({})).await;
    for id in ["1", "2", "3"] {
        set(&world, id, json!(1)).await;
    }
    let (running, answer) = first_request_under_way(&world, &receiver).await;
    let mut transaction = world.pool.begin().await.unwrap();
    world.delivery.pause_integration(&mut transaction, world.scope, made.integration.id, None).await.unwrap();
    transaction.commit().await.unwrap();
    answer.notify_one();
    running.until(3).await;
    running.stop().await;
    let uncounted = "select count(*) from headgate.jobs where attempt = 0 and status = 0";
    assert_eq!(world.number(uncounted).await, 3);
    assert!(receiver.rest().await.is_empty());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_new_address_applies_to_the_next_request(pool: PgPool) {
    let (world, receiver, moved) = (World::new(pool).await, Receiver::start().await, Receiver::start().await);
    let made = bundle(&world, &receiver, json!({})).await;
    for id in ["1", "2"] {
        set(&world, id, json!(1)).await;
    }
    let (running, answer) = first_request_under_way(&world, &receiver).await;
    world.patch(made.integration.id, json!({"endpoint_url": moved.url})).await;
    answer.notify_one();
    running.until(2).await;
    running.stop().await;
    assert!(receiver.rest().await.is_empty());
    assert_eq!(moved.rest().await.iter().map(records).collect::<Vec<_>>(), [["1"], ["2"]]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_410_releases_the_rest_once_the_pause_is_written(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let made = bundle(&world, &receiver, json!({"record_types": ["product"]})).await;
    let other_system = Receiver::start().await;
    world.integration(json!({"endpoint_url": other_system.url, "record_types": ["order"]})).await;
    for id in ["1", "2", "3"] {
        set(&world, id, json!("x".repeat(400_000))).await;
    }
    receiver.answers(Reply::Status(410));
    world.let_time_pass().await;
    // The pause has to wait: the row is locked.
    let mut other = world.pool.begin().await.unwrap();
    sqlx::query("select from headgate.integrations where id = $1 for no key update")
        .bind(made.integration.id.0)
        .execute(&mut *other)
        .await
        .unwrap();
    let running = world.run();
    receiver.next().await;
    world
        .until("select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')")
        .await;
    // After a whole cycle of the engine none was released.
    world.accept([json!({"record_type": "order", "record_id": "9", "attributes": {"a": 1}})]).await;
    world.until("select exists (select from headgate.finished_jobs where record_id = '9')").await;
    assert_eq!(
        world.number("select count(*) from headgate.jobs where status = 1").await,
        3,
        "none was released"
    );
    other.rollback().await.unwrap();
    running.until(4).await;
    running.stop().await;
    let state = world.delivery.integration(world.scope, made.integration.id).await.unwrap().state;
    assert_eq!(state, IntegrationState::Paused);
    assert!(receiver.rest().await.is_empty());
}
