use crate::support::{Server, a_webhook};
use model::actor::Role;
use serde_json::json;
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn many_are_paused_resumed_and_limited_each_with_its_audit_entry(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(a_webhook(&client, &app, "http://127.0.0.1:9/").await);
    }
    client.act(&format!("/integrations/{}/pause", ids[0])).await.ok(200);
    let bulk = async |body: serde_json::Value| client.post("/integrations/bulk", body).await;

    let counted = bulk(json!({"action": "pause", "ids": ids, "dry_run": true})).await.ok(200);
    assert_eq!((&counted["matched"], &counted["changed"]), (&json!(3), &json!(0)));
    let paused = bulk(json!({"action": "pause", "ids": ids, "reason": "their night"})).await.ok(200);
    assert_eq!((&paused["matched"], &paused["changed"]), (&json!(3), &json!(2)));
    assert_eq!(paused["skipped"], json!([{"id": ids[0], "reason": "no change needed"}]));
    let second = client.get(&format!("/integrations/{}", ids[1])).await.ok(200);
    assert_eq!((&second["state"], &second["state_reason"]), (&json!("paused"), &json!("their night")));

    let resumed =
        bulk(json!({"action": "resume", "filter": {"app_id": app, "state": "paused"}})).await.ok(200);
    assert_eq!((&resumed["matched"], &resumed["changed"]), (&json!(3), &json!(3)));
    let limit = json!({"requests": 7, "per_seconds": 2});
    let filter = json!({"app_id": app, "integration_type": "webhook"});
    let limited = bulk(json!({"action": "set_limit", "filter": filter, "rate_limit": limit})).await.ok(200);
    assert_eq!(limited["changed"], 3);
    assert_eq!(client.get(&format!("/integrations/{}", ids[2])).await.ok(200)["rate_limit"], limit);
    let cleared = bulk(json!({"action": "clear_limit", "ids": [ids[2]]})).await.ok(200);
    assert_eq!(cleared["changed"], 1);

    for (action, lines) in [("integration.pause", 3), ("integration.resume", 3), ("integration.update", 4)] {
        let log = client.get(&format!("/audit-log?action={action}")).await.ok(200);
        assert_eq!(log["items"].as_array().unwrap().len(), lines, "{action}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn invalid_selections_are_refused_and_unknown_ids_skipped(pool: PgPool) {
    let (server, client, app) = Server::with_app(pool).await;
    let id = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    for (body, pointer) in [
        (json!({"action": "pause", "filter": {}}), "/filter"),
        (json!({"action": "pause", "ids": []}), "/ids"),
        (json!({"action": "set_limit", "ids": [id]}), "/rate_limit"),
        (
            json!({"action": "resume", "ids": [id], "rate_limit": {"requests": 1, "per_seconds": 1}}),
            "/rate_limit",
        ),
    ] {
        assert_eq!(client.post("/integrations/bulk", body).await.pointers(422), [pointer]);
    }
    let unknown = "01890a5d-ac96-774b-bcce-b302099a8057";
    let outcome =
        client.post("/integrations/bulk", json!({"action": "pause", "ids": [unknown, id]})).await.ok(200);
    assert_eq!((&outcome["changed"], &outcome["skipped"][0]["id"]), (&json!(1), &json!(unknown)));
    for role in [Role::Support, Role::Auditor] {
        let body = json!({"action": "resume", "ids": [id]});
        server.key(role, None).await.post("/integrations/bulk", body).await.problem(403);
    }
}
