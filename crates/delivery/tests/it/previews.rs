//! Previews: the request of a job as it would be sent.

use model::{job::JobStatus, request::SECRET};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::support::{Receiver, World};

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_preview_is_what_is_sent_except_for_secrets(pool: PgPool) {
    let world = World::new(pool).await;
    let fields = json!({
        "integration_type": "rest", "endpoint_url": "http://127.0.0.1:9/api", "headers": {"x-shop": "s3cret-1"},
        "credentials": {"authorization": "Bearer s3cret-2"},
    });
    let shop = world.integration(fields).await;
    world.set(json!({"title": "Lamp"})).await;
    let jobs = world.jobs(shop).await;
    let shown = world.delivery.preview(&jobs[0]).await.unwrap().expect("there is something to send");
    assert_eq!((shown.method.as_str(), shown.url.as_str()), ("PUT", "http://127.0.0.1:9/api/product/1"));
    let body: Value = serde_json::from_str(shown.body.as_deref().unwrap()).unwrap();
    assert_eq!(body, json!({"title": "Lamp"}));
    let header =
        |name: &str| shown.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str());
    assert_eq!((header("x-shop"), header("authorization")), (Some(SECRET), Some(SECRET)));
    assert_eq!(header("content-type"), Some("application/json"));
    assert!(header("webhook-id").is_some() && !shown.to_curl().contains("s3cret"));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_preview_of_a_resyncs_job_has_the_whole_record(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    let changes = async || {
        let job = world.jobs(shop).await.into_iter().find(|job| job.status == JobStatus::Pending).unwrap();
        let shown = world.delivery.preview(&job).await.unwrap().expect("there is something to send");
        let body: Value = serde_json::from_str(shown.body.as_deref().unwrap()).unwrap();
        (body["changes"]["set"].clone(), body["full"].clone())
    };
    world.set(json!({"title": "Lamp"})).await;
    world.run_until(1).await;
    world.set(json!({"price": 9})).await;
    assert_eq!(changes().await, (json!({"price": 9}), json!(false)));
    sqlx::query("update headgate.jobs set is_full = true").execute(&world.pool).await.unwrap();
    assert_eq!(changes().await, (json!({"title": "Lamp", "price": 9}), json!(true)));
}
