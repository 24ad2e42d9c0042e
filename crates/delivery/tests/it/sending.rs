//! What goes over the wire.

use axum::http::Method;
use base64::{Engine, engine::general_purpose::STANDARD};
use delivery::DeliveryError;
use hmac::{Hmac, Mac};
use model::id::IntegrationId;
use serde_json::{Value, json};
use sha2::Sha256;
use sqlx::PgPool;

use crate::support::{Received, Receiver, World, object};

/// Standard Webhooks, computed independently.
pub(crate) fn signature(secret: &str, request: &Received) -> String {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    let head = format!("{}.{}.", request.header("webhook-id"), request.header("webhook-timestamp"));
    mac.update(head.as_bytes());
    mac.update(&request.body);
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

async fn rotate(world: &World, id: IntegrationId) -> String {
    let mut transaction = world.pool.begin().await.unwrap();
    let rotated = world.delivery.rotate_secret(&mut transaction, world.scope, id).await.unwrap();
    transaction.commit().await.unwrap();
    rotated.signing_secret
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_change_is_one_signed_request_and_the_next_carries_the_difference(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let made = world
        .try_integration(json!({
            "endpoint_url": format!("{}/hook?shop=1", receiver.url),
            "headers": {"X-Shop": "nord"},
            "credentials": {"Authorization": "Bearer token"},
        }))
        .await
        .unwrap();
    let shop = made.integration.id;
    assert!(made.integration.has_credentials);
    world.accept([json!({"type": "record.created", "attributes": {"a": 1, "b": [2], "c": null}, "correlation_id": "order-1"})]).await;
    world.run_until(1).await;

    let first = receiver.next().await;
    let job = world.jobs(shop).await.remove(0);
    assert_eq!((first.method.clone(), first.path.as_str()), (Method::POST, "/hook?shop=1"));
    assert_eq!(first.header("webhook-signature"), signature(&made.signing_secret, &first));
    assert_eq!(first.header("webhook-id"), job.id.to_string());
    let age = chrono::Utc::now().timestamp() - first.header("webhook-timestamp").parse::<i64>().unwrap();
    assert!((0..60).contains(&age));
    assert_eq!(first.header("x-correlation-id"), "order-1");
    assert_eq!(first.header("content-type"), "application/json");
    assert!(first.header("user-agent").starts_with("Headgate/"));
    assert!(first.header("traceparent").starts_with("00-"));
    assert_eq!((first.header("x-shop"), first.header("authorization")), ("nord", "Bearer token"));
    let mut body = first.json();
    assert!(body["timestamp"].take().is_string());
    let expected = json!({
        "id": job.id, "type": "record.created", "timestamp": null, "app_id": world.app, "integration_id": shop,
        "record": {"type": "product", "id": "1", "version": 1},
        "changes": {"set": {"a": 1, "b": [2], "c": null}, "unset": []}, "full": true
    });
    assert_eq!(body, expected);
    assert_eq!((job.status.as_str(), job.outcome.as_deref()), ("completed", Some("sent")));

    world.accept([json!({"type": "record.replaced", "attributes": {"a": 1, "c": {"d": 2}}})]).await;
    world.run_until(1).await;
    let second = receiver.next().await.json();
    assert_eq!(second["changes"], json!({"set": {"c": {"d": 2}}, "unset": ["b"]}));
    assert_eq!((second["full"].clone(), second["type"].clone()), (json!(false), json!("record.replaced")));
    let sent = world.sent(shop).await.remove(0);
    assert_eq!((sent.version, sent.attributes), (2, object(json!({"a": 1, "c": {"d": 2}}))));

    world.accept([json!({"type": "record.deleted"})]).await;
    world.run_until(1).await;
    let third = receiver.next().await.json();
    assert_eq!((third["type"].clone(), third["full"].clone()), (json!("record.deleted"), json!(false)));
    assert_eq!(third["changes"], json!({"set": {}, "unset": []}));
    assert!(world.sent(shop).await.is_empty());
    assert!(receiver.rest().await.is_empty());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn many_changes_are_one_request_and_a_change_back_is_none(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    for n in 0..5 {
        world.set(json!({"a": n})).await;
    }
    world.run_until(1).await;
    let body = receiver.next().await.json();
    assert_eq!(
        (body["changes"]["set"].clone(), body["record"]["version"].clone()),
        (json!({"a": 4}), json!(5))
    );

    world.set(json!({"a": 9})).await;
    world.set(json!({"a": 4})).await;
    world.run_until(1).await;
    assert_eq!(world.newest(shop).await, ("completed".into(), Some("unchanged".into()), None));
    assert!(receiver.rest().await.is_empty());
    // It has the newest version, although nothing was sent.
    assert_eq!(world.sent(shop).await[0].version, 7);

    // Created and deleted before anything was sent: nothing has to be sent.
    world
        .accept([
            json!({"record_id": "2", "attributes": {"a": 1}}),
            json!({"record_id": "2", "type": "record.deleted"}),
        ])
        .await;
    world.run_until(1).await;
    assert_eq!(world.newest(shop).await.1.as_deref(), Some("unchanged"));
    assert!(receiver.rest().await.is_empty());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_rest_integration_gets_a_resource_per_record(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let url = format!("{}/api/", receiver.url);
    let made = world.try_integration(json!({"integration_type": "rest", "endpoint_url": url})).await.unwrap();
    let change = |attributes: Value| world.accept([json!({"record_id": "a/b ü", "attributes": attributes})]);
    change(json!({"a": 1, "b": {"x": 1, "y": 2}})).await;
    world.run_until(1).await;
    let put = receiver.next().await;
    assert_eq!((put.method.clone(), put.path.as_str()), (Method::PUT, "/api/product/a%2Fb%20%C3%BC"));
    assert_eq!(put.json(), json!({"a": 1, "b": {"x": 1, "y": 2}}));
    assert_eq!(put.header("webhook-signature"), signature(&made.signing_secret, &put));

    change(json!({"b": {"x": 5}})).await;
    world.run_until(1).await;
    let patch = receiver.next().await;
    assert_eq!((patch.method.clone(), patch.json()), (Method::PATCH, json!({"b": {"x": 5, "y": null}})));
    assert_eq!(patch.header("content-type"), "application/merge-patch+json");

    change(json!({"a": null})).await;
    world.run_until(1).await;
    let whole = receiver.next().await;
    assert_eq!((whole.method.clone(), whole.json()), (Method::PUT, json!({"a": null, "b": {"x": 5}})));

    world.accept([json!({"record_id": "a/b ü", "type": "record.deleted"})]).await;
    world.run_until(1).await;
    let gone = receiver.next().await;
    assert_eq!((gone.method.clone(), gone.body.len()), (Method::DELETE, 0));
    assert_eq!(gone.header("webhook-signature"), signature(&made.signing_secret, &gone));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_bundle_holds_webhook_bodies(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let bundle =
        json!({"integration_type": "bundle", "endpoint_url": receiver.url, "bundle_window_seconds": 1});
    world.integration(bundle).await;
    world.set(json!({"a": 1})).await;
    world.run_until(1).await;
    let body = receiver.next().await.json();
    assert_eq!(body["items"][0]["changes"]["set"], json!({"a": 1}));
    assert_eq!(body["items"].as_array().unwrap().len(), 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_is_about_no_record_carries_its_payload(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    let job = serde_json::from_value(
        json!({"integration_id": shop, "job_type": "invoice.send", "payload": {"n": [1]}}),
    )
    .unwrap();
    let job = world.delivery.enqueue_job(world.scope, job).await.unwrap()[0];
    world.run_until(1).await;
    let mut body = receiver.next().await.json();
    assert!(body["timestamp"].take().is_string());
    let expected = json!({
        "id": job.id, "type": "invoice.send", "timestamp": null, "app_id": world.app, "integration_id": shop, "payload": {"n": [1]}
    });
    assert_eq!(body, expected);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_secret_signs_for_a_day_after_it_was_rotated(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let made = world.try_integration(json!({"endpoint_url": receiver.url})).await.unwrap();
    let (old, id) = (made.signing_secret, made.integration.id);
    let new = rotate(&world, id).await;
    assert_ne!(old, new);
    world.set(json!({"a": 1})).await;
    world.run_until(1).await;
    let request = receiver.next().await;
    let both = format!("{} {}", signature(&new, &request), signature(&old, &request));
    assert_eq!(request.header("webhook-signature"), both);

    // Rotated again within the day, the receiver's old secret still signs.
    let newest = rotate(&world, id).await;
    world.set(json!({"a": 3})).await;
    world.run_until(1).await;
    let request = receiver.next().await;
    let all = [&newest, &new, &old].map(|secret| signature(secret, &request)).join(" ");
    assert_eq!(request.header("webhook-signature"), all);

    sqlx::query(
        "update headgate.integrations set older_secrets_until = array[clock_timestamp()] where id = $1",
    )
    .bind(id)
    .execute(&world.pool)
    .await
    .unwrap();
    world.set(json!({"a": 4})).await;
    world.run_until(1).await;
    let request = receiver.next().await;
    let both = [&newest, &new].map(|secret| signature(secret, &request)).join(" ");
    assert_eq!(request.header("webhook-signature"), both);

    sqlx::query("update headgate.integrations set previous_secret_until = clock_timestamp()")
        .execute(&world.pool)
        .await
        .unwrap();
    world.set(json!({"a": 2})).await;
    world.run_until(1).await;
    let request = receiver.next().await;
    assert_eq!(request.header("webhook-signature"), signature(&newest, &request));

    // Expired secrets make room; those that still sign are not dropped.
    for _ in 0..8 {
        rotate(&world, id).await;
    }
    let mut transaction = world.pool.begin().await.unwrap();
    let refused = world.delivery.rotate_secret(&mut transaction, world.scope, id).await;
    assert!(matches!(refused, Err(DeliveryError::Conflict { code: "too-many-secrets", .. })));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_sample_is_sent_and_its_answer_reported(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let made = world.try_integration(json!({"endpoint_url": receiver.url})).await.unwrap();
    receiver.replies([crate::support::Reply::With(418, vec![], "short and\u{1b} stout".into())]);
    let report = world.delivery.test_integration(world.scope, made.integration.id).await.unwrap();
    let sample = receiver.next().await;
    assert_eq!(sample.json()["type"], "headgate.test");
    assert_eq!(report.webhook_signature, signature(&made.signing_secret, &sample));
    assert_eq!(report.body.as_bytes(), sample.body);
    assert_eq!((report.is_success, report.response_status), (false, Some(418)));
    assert_eq!(report.response_excerpt.as_deref(), Some("short and\u{fffd} stout"));
    assert!(world.jobs(made.integration.id).await.is_empty());
    let report = world.delivery.test_integration(world.scope, made.integration.id).await.unwrap();
    assert!(report.is_success && report.error_message.is_none());
}
