//! Jobs cancelled while their request is on its way.

use std::sync::Arc;

use model::id::{IntegrationId, JobId};
use model::job::JobStatus;
use queue::store::jobs;
use serde_json::json;
use sqlx::PgPool;
use tokio::sync::Notify;

use crate::bundles::{bundle, records, set};
use crate::support::{Receiver, Reply, World};

async fn cancel(world: &World, id: JobId) {
    let mut transaction = world.pool.begin().await.unwrap();
    let job = jobs::cancel(&mut transaction, world.scope, id).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(job.status, JobStatus::Processing);
}

async fn job_of(world: &World, integration: IntegrationId, record: &str) -> model::job::Job {
    let jobs = world.jobs(integration).await;
    jobs.into_iter().rfind(|job| job.record_id.as_deref() == Some(record)).expect("its first job")
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_change_that_came_meanwhile_goes_out_after_the_cancelled_job_and_whole(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    world.set(json!({"a": 1, "b": 1})).await;
    world.run_until(1).await;
    receiver.next().await;

    receiver.replies([Reply::Hang]);
    world.set(json!({"a": 2})).await;
    let running = world.run();
    assert_eq!(receiver.next().await.json()["changes"]["set"], json!({"a": 2}));
    let id: JobId = sqlx::query_scalar("select id from headgate.jobs").fetch_one(&world.pool).await.unwrap();
    cancel(&world, id).await;
    world.set(json!({"b": 2})).await;
    running.until(2).await;
    running.stop().await;
    let sent = receiver.next().await.json();
    assert_eq!(sent["changes"]["set"], json!({"a": 2, "b": 2}), "it is not known whether the first arrived");
    assert_ne!(sent["id"], json!(id), "another job");
    let ended = jobs::get(&world.pool, world.scope, id).await.unwrap().job;
    assert_eq!(ended.status, JobStatus::Cancelled);
    assert_eq!(world.newest(shop).await.1.as_deref(), Some("sent"));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_item_on_its_way_with_others_ends_by_their_answer(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let made = bundle(&world, &receiver, json!({"record_types": ["product"]})).await.integration.id;
    let silent = Receiver::start().await;
    let other = world.integration(json!({"endpoint_url": silent.url, "record_types": ["shelf"]})).await;
    for id in ["1", "2"] {
        set(&world, id, json!(1)).await;
    }
    world.accept([json!({"record_type": "shelf", "record_id": "s", "attributes": {"a": 1}})]).await;
    let answer = Arc::new(Notify::new());
    receiver.replies([Reply::When(Arc::clone(&answer))]);
    silent.replies([Reply::Hang]);
    world.let_time_pass().await;
    let running = world.run();
    assert_eq!(records(&receiver.next().await), ["1", "2"]);
    silent.next().await;

    cancel(&world, job_of(&world, made, "1").await.id).await;
    set(&world, "1", json!(2)).await;
    cancel(&world, job_of(&world, other, "s").await.id).await;
    // Cancel requests are delivered in order: once the second job has got its one, so has the first.
    running.until(1).await;
    assert_eq!(job_of(&world, other, "s").await.status, JobStatus::Cancelled);
    let item = job_of(&world, made, "1").await;
    assert!(item.status == JobStatus::Processing && item.cancel_requested_at.is_some());

    answer.notify_one();
    running.until(3).await;
    assert_eq!(job_of(&world, made, "1").await.status, JobStatus::Completed, "it was accepted");
    world.let_time_pass().await;
    running.until(4).await;
    running.stop().await;
    assert_eq!(records(&receiver.next().await), ["1"]);
    assert_eq!(receiver.max_concurrent(), 1);
}
