use crate::support::Server;
use serde_json::json;
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_key_is_shown_once_works_and_is_revoked(pool: PgPool) {
    let (server, client, app) = Server::with_app(pool).await;
    let new = json!({"name": "ci", "role": "portal", "app_id": app, "expires_in_seconds": 3600});
    let created = client.post("/api-keys", new).await.ok(201);
    let key = created["key"].as_str().unwrap();
    assert!(key.starts_with("hg_portal_") && created["expires_at"].is_string());
    // The prefix is what a person sees at the beginning of the key, and no more of it.
    let prefix = created["prefix"].as_str().unwrap();
    assert!(key.starts_with(&format!("{prefix}_")) && prefix.len() < key.len() / 2, "{prefix}: {key}");
    let holder = server.anonymous().with_key(key);
    assert_eq!(holder.get("/apps").await.ok(200)["items"][0]["id"], json!(app));
    let list = client.get("/api-keys").await;
    assert!(!list.text.contains(key));
    assert!(list.ok(200)["items"][0]["last_used_at"].is_string());
    let path = format!("/api-keys/{}", created["id"].as_str().unwrap());
    client.delete(&path).await.ok(204);
    let refused = holder.get("/apps").await;
    refused.problem(401);
    assert!(refused.header("www-authenticate").starts_with("Bearer"));
    // Revoking it again changes nothing, so there is no line of it.
    let revoked = client.get("/api-keys").await.ok(200)["items"][0]["revoked_at"].clone();
    client.delete(&path).await.ok(204);
    assert_eq!(client.get("/api-keys").await.ok(200)["items"][0]["revoked_at"], revoked);
    let lines = client.get("/audit-log?action=api_key.revoke").await.ok(200);
    assert_eq!(lines["items"].as_array().unwrap().len(), 1);
    client.delete("/api-keys/01890a5d-ac96-774b-bcce-b302099a8057").await.problem(404);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_key_of_one_app_needs_an_existing_app(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    for body in [
        json!({"name": "k", "role": "producer"}),
        json!({"name": "k", "role": "producer", "app_id": "01890a5d-ac96-774b-bcce-b302099a8057"}),
        json!({"name": "k", "role": "operator", "app_id": "01890a5d-ac96-774b-bcce-b302099a8057"}),
    ] {
        assert_eq!(client.post("/api-keys", body).await.pointers(422), ["/app_id"]);
    }
    let body = json!({"name": "k", "role": "root"});
    assert_eq!(client.post("/api-keys", body).await.pointers(422), ["/role"]);
}
