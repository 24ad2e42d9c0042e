use crate::support::{Receiver, Server, a_webhook, an_app, an_event};
use model::actor::Role;
use serde_json::json;
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_resync_is_started_read_paused_resumed_and_cancelled(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let integration = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    client.post("/events", an_event(&app, "1")).await.ok(202);
    let path = format!("/integrations/{integration}/resync");
    let started = client.act(&path).await.ok(202);
    assert!(started["batch_id"].is_string());
    client.post(&path, json!({})).await.problem(409);
    let id = started["resync_id"].as_str().unwrap();
    let resync = client.get(&format!("/resyncs/{id}")).await.ok(200);
    assert_eq!((&resync["integration_id"], &resync["mode"]), (&json!(integration), &json!("full")));
    let list = client.get(&format!("/resyncs?integration_id={integration}")).await.ok(200);
    assert_eq!(list["items"][0]["id"], id);
    assert_eq!(client.act(&format!("/resyncs/{id}/pause")).await.ok(200)["state"], "paused");
    assert_eq!(client.act(&format!("/resyncs/{id}/resume")).await.ok(200)["state"], "running");
    assert_eq!(client.act(&format!("/resyncs/{id}/cancel")).await.ok(200)["state"], "cancelled");
    client.act(&format!("/resyncs/{id}/pause")).await.problem(409);
    let too_soon = client.act(&path).await;
    too_soon.problem(429);
    assert!((1..=60).contains(&too_soon.header("retry-after").parse::<u32>().unwrap()));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_portal_resyncs_its_own_app_with_full_records(pool: PgPool) {
    let server = Server::with_workers(pool).await;
    let client = server.operator();
    let (own, foreign) = (an_app(&client, "Own").await, an_app(&client, "Foreign").await);
    let receiver = Receiver::answering(200).await;
    let integration = a_webhook(&client, &own, &receiver.url()).await;
    let other = a_webhook(&client, &foreign, &receiver.url()).await;
    client.post("/events", an_event(&own, "1")).await.ok(202);
    receiver.next().await;
    server.recorded(1).await;
    let portal = server.key(Role::Portal, Some(&own)).await;
    portal.act(&format!("/integrations/{other}/resync")).await.problem(404);
    portal
        .post(&format!("/integrations/{integration}/resync"), json!({"record_type": "product"}))
        .await
        .ok(202);
    let (_, body) = receiver.next().await;
    assert_eq!((&body["full"], &body["record"]["id"]), (&json!(true), &json!("1")));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn faults_of_a_resync_have_pointers(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let integration = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    for (body, pointer) in [
        (json!({"record_ids": ["1"]}), "/record_type"),
        (json!({"mode": "half"}), "/mode"),
        (json!({"record_type": ""}), "/record_type"),
        (json!({"everything": true}), "/everything"),
    ] {
        let answer = client.post(&format!("/integrations/{integration}/resync"), body).await;
        assert_eq!(answer.pointers(422), [pointer]);
    }
}
