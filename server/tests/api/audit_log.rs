use crate::support::{Client, Server, a_webhook, an_app};
use serde_json::{Value, json};
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn changes_are_recorded_with_actor_before_and_after(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator().with("x-request-id", "req-42").with("x-forwarded-for", "203.0.113.9");
    let app = an_app(&client, "Shop").await;
    let integration = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    let path = format!("/integrations/{integration}");
    client.patch(&path, json!({"max_concurrency": 7, "headers": {"x-shop": "s3cret"}})).await.ok(200);
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
async fn refused_changes_are_not_recorded(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    client.post("/apps", json!({"name": ""})).await.problem(422);
    client.post("/apps", json!({"name": "One", "slug": "one"})).await.ok(201);
    client.post("/apps", json!({"name": "Two", "slug": "one"})).await.problem(409);
    let log = client.get("/audit-log").await.ok(200);
    assert_eq!(log["items"].as_array().unwrap().len(), 1);
}

/// The newest entry about an object.
async fn newest(client: &Client, about: &str) -> Value {
    client.get(&format!("/audit-log?object_id={about}&limit=1")).await.ok(200)["items"][0].clone()
}

/// The code with which undoing an entry is refused.
async fn refusal(client: &Client, line: &Value) -> String {
    let id = line["id"].as_str().unwrap();
    let problem = client.act(&format!("/audit-log/{id}/undo")).await.problem(409);
    problem["type"].as_str().unwrap().rsplit(['/', ':', '#']).next().unwrap().to_owned()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_change_is_undone_once_and_repeated(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let integration = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    let path = format!("/integrations/{integration}");
    let limit = json!({"requests": 20, "per_seconds": 1});
    client.patch(&path, json!({"rate_limit": limit, "name": "Other"})).await.ok(200);
    let line = newest(&client, &integration).await;
    assert_eq!((&line["can_undo"], &line["can_repeat"]), (&json!(true), &json!(true)));
    let at = format!("/audit-log/{}", line["id"].as_str().unwrap());

    let undone = client.act(&format!("{at}/undo")).await.ok(200);
    assert_eq!((&undone["undoes"], &undone["action"]), (&line["id"], &json!("integration.update")));
    let now = client.get(&path).await.ok(200);
    assert_eq!((&now["rate_limit"], now["name"] != "Other"), (&Value::Null, true));
    let line = client.get(&at).await.ok(200);
    assert_eq!((&line["undone_by"], &line["can_undo"]), (&undone["id"], &json!(false)));
    assert_eq!(refusal(&client, &line).await, "already-undone");

    let again = client.act(&format!("{at}/repeat")).await.ok(200);
    assert_eq!(again["repeats"], line["id"]);
    assert_eq!(client.get(&path).await.ok(200)["rate_limit"], limit);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn changes_without_inverse_and_changed_objects_cannot_be_undone(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let integration = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    let path = format!("/integrations/{integration}");
    client.act(&format!("{path}/rotate-secret")).await.ok(200);
    assert_eq!(refusal(&client, &newest(&client, &integration).await).await, "no-inverse");
    client.patch(&path, json!({"max_concurrency": 7})).await.ok(200);
    let first = newest(&client, &integration).await;
    client.patch(&path, json!({"max_concurrency": 8})).await.ok(200);
    assert_eq!(refusal(&client, &first).await, "changed-since");
    assert_eq!(client.get(&path).await.ok(200)["max_concurrency"], 8);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_log_is_filtered_by_actor_and_time(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    an_app(&client, "Shop").await;
    let found = async |query: &str| {
        client.get(&format!("/audit-log?{query}")).await.ok(200)["items"].as_array().unwrap().len()
    };
    assert_eq!(found("actor_name=headgate_admin_api_key&action=app.create").await, 1);
    assert_eq!(found("actor_name=headgate").await, 0, "names must match exactly");
    assert_eq!(found("created_after=2020-01-01T00:00:00Z").await, 1);
    assert_eq!(found("created_before=2020-01-01T00:00:00Z").await, 0);
    assert_eq!(client.get("/audit-log?created_after=today").await.pointers(422), ["created_after"]);
}
