use crate::support::Server;
use model::actor::Role;
use serde_json::json;
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn processes_are_listed_and_drained(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    // Once a result is recorded, the process is registered.
    let receiver = crate::support::Receiver::answering(200).await;
    crate::support::a_webhook(&client, &app, &receiver.url()).await;
    client.post("/events", crate::support::an_event(&app, "1")).await.ok(202);
    server.recorded(1).await;
    let list = client.get("/workers").await.ok(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    let id = list["items"][0]["id"].as_str().unwrap();
    assert_eq!(client.act(&format!("/workers/{id}/drain")).await.ok(200)["is_draining"], true);
    server.key(Role::Auditor, None).await.act(&format!("/workers/{id}/drain")).await.problem(403);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn rate_limits_are_listed_by_integration(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let body = json!({
        "app_id": app, "name": "ERP", "integration_type": "webhook", "endpoint_url": "http://127.0.0.1:9/",
        "rate_limit": {"requests": 7, "per_seconds": 3},
    });
    let integration = client.post("/integrations", body).await.ok(201);
    let list = client.get("/rate-limits").await.ok(200);
    let limit = &list["items"][0];
    assert_eq!(
        (&limit["integration_id"], &limit["limit"], &limit["per_seconds"]),
        (&integration["id"], &json!(7), &json!(3))
    );
    assert_eq!(limit["used"], 0);
}
