use crate::support::Server;
use serde_json::{Value, json};
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_operation_on_more_than_a_hundred_is_held_and_can_be_withdrawn(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let jobs: Vec<Value> =
        (0..101).map(|n| json!({"app_id": app, "job_type": "export", "payload": n})).collect();
    client.post("/jobs", json!(jobs)).await.ok(201);
    let body = json!({"action": "cancel", "filter": {"app_id": app}, "hold_seconds": 3600, "reason": "wrong import"});
    let started = client.post("/jobs/bulk", body).await.ok(202);
    assert_eq!(started["matched"], 101);
    let path = format!("/operations/{}", started["operation_id"].as_str().unwrap());
    let operation = client.get(&path).await.ok(200);
    assert_eq!((&operation["state"], &operation["changed"]), (&json!("held"), &json!(0)));
    assert_eq!((&operation["reason"], &operation["action"]), (&json!("wrong import"), &json!("cancel")));
    assert_eq!(client.get("/operations").await.ok(200)["items"][0]["id"], operation["id"]);
    client.act(&format!("{path}/undo")).await.problem(409);
    assert_eq!(client.act(&format!("{path}/pause")).await.ok(200)["state"], "paused");
    assert_eq!(client.act(&format!("{path}/abort")).await.ok(200)["state"], "aborted");
    for step in ["resume", "pause", "abort", "undo"] {
        client.act(&format!("{path}/{step}")).await.problem(409);
    }
    let waiting = client.get(&format!("/jobs?app_id={app}&status=pending&limit=500")).await.ok(200);
    assert_eq!(waiting["items"].as_array().unwrap().len(), 101);
}
