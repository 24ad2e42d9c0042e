use crate::support::{Server, a_webhook, an_app};
use serde_json::json;
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn who_changed_what_is_on_record_with_before_and_after(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator().with("x-request-id", "req-42").with("x-forwarded-for", "203.0.113.9");
    let app = an_app(&client, "Shop").await;
    let integration = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    let path = format!("/integrations/{integration}");
    client.patch(&path, json!({"max_concurrency": 7, "headers": {"x-key": "s3cret"}})).await.ok(200);
    client.act(&format!("{path}/rotate-secret")).await.ok(200);
    client.delete(&path).await.ok(204);
    let log = client.get(&format!("/audit-log?object_id={integration}")).await;
    assert!(!log.text.contains("s3cret") && !log.text.contains("whsec_"), "{}", log.text);
    let log = log.ok(200);
    let actions: Vec<&str> =
        log["items"].as_array().unwrap().iter().map(|e| e["action"].as_str().unwrap()).collect();
    assert_eq!(
        actions,
        ["integration.delete", "integration.rotate_secret", "integration.update", "integration.create"]
    );
    let update = &log["items"][2];
    assert_eq!(
        (&update["before"]["max_concurrency"], &update["after"]["max_concurrency"]),
        (&json!(50), &json!(7))
    );
    assert_eq!((&update["actor_kind"], &update["app_id"]), (&json!("admin_key"), &json!(app)));
    assert_eq!((&update["request_id"], &update["address"]), (&json!("req-42"), &json!("203.0.113.9")));
    let apps = client.get("/audit-log?object_kind=app").await.ok(200);
    assert_eq!(apps["items"].as_array().unwrap().len(), 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_was_refused_is_not_recorded_as_done(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    client.post("/apps", json!({"name": ""})).await.problem(422);
    client.post("/apps", json!({"name": "One", "slug": "one"})).await.ok(201);
    client.post("/apps", json!({"name": "Two", "slug": "one"})).await.problem(409);
    let log = client.get("/audit-log").await.ok(200);
    assert_eq!(log["items"].as_array().unwrap().len(), 1);
}
