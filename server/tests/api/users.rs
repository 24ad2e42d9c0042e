use crate::support::Server;
use serde_json::json;
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_user_is_created_read_changed_and_deleted(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let new = json!({"email": "ada@example.test", "role": "support", "password": "correct horse"});
    let made = client.post("/users", new.clone()).await;
    assert!(!made.text.contains("correct horse") && !made.text.contains("argon2"));
    let made = made.ok(201);
    assert_eq!((&made["name"], &made["has_password"]), (&json!("ada"), &json!(true)));
    client.post("/users", new).await.problem(409);
    let path = format!("/users/{}", made["id"].as_str().unwrap());
    assert_eq!(client.patch(&path, json!({"role": "auditor"})).await.ok(200)["role"], "auditor");
    assert_eq!(client.patch(&path, json!({"password": "password"})).await.pointers(422), ["/password"]);
    assert_eq!(client.patch(&path, json!({"role": "worker"})).await.pointers(422), ["/role"]);
    assert_eq!(client.get("/users").await.ok(200)["items"].as_array().unwrap().len(), 1);
    client.delete(&path).await.ok(204);
    client.get(&path).await.problem(404);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_last_operator_cannot_be_deleted(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let new = json!({"email": "ada@example.test", "role": "operator", "password": "correct horse"});
    let path = format!("/users/{}", client.post("/users", new).await.ok(201)["id"].as_str().unwrap());
    client.delete(&path).await.problem(409);
    client.patch(&path, json!({"is_disabled": true})).await.problem(409);
}
