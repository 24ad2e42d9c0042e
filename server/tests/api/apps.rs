use crate::support::{Server, a_job, an_external};
use serde_json::json;
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_app_is_created_read_changed_and_deleted(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let app = client.post("/apps", json!({"name": "Nordwind GmbH"})).await.ok(201);
    assert_eq!((&app["name"], &app["slug"]), (&json!("Nordwind GmbH"), &json!("nordwind-gmbh")));
    let path = format!("/apps/{}", app["id"].as_str().unwrap());
    assert_eq!(client.get(&path).await.ok(200), app);
    let changed = client.patch(&path, json!({"name": "Nordwind"})).await.ok(200);
    assert_eq!((&changed["name"], &changed["slug"]), (&json!("Nordwind"), &json!("nordwind-gmbh")));
    let list = client.get("/apps").await.ok(200);
    assert_eq!((list["items"].as_array().unwrap().len(), &list["next_cursor"]), (1, &json!(null)));
    client.delete(&path).await.ok(204);
    client.get(&path).await.problem(404);
    client.delete(&path).await.problem(404);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_slug_belongs_to_one_app(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    client.post("/apps", json!({"name": "One", "slug": "shop"})).await.ok(201);
    client.post("/apps", json!({"name": "Two", "slug": "shop"})).await.problem(409);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_app_has_the_built_in_integration_workers(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let list = client.get(&format!("/integrations?app_id={app}")).await.ok(200);
    let built_in = &list["items"][0];
    assert_eq!((&built_in["name"], &built_in["integration_type"]), (&json!("workers"), &json!("external")));
    assert_eq!(built_in["is_built_in"], true);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn live_jobs_prevent_deletion_unless_they_are_cancelled(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let integration = an_external(&client, &app).await;
    a_job(&client, &integration).await;
    for path in [format!("/integrations/{integration}"), format!("/apps/{app}")] {
        let refused = client.delete(&path).await.problem(409);
        assert_eq!(refused["type"], "urn:headgate:problem:live-jobs");
        assert_eq!(client.delete(&format!("{path}?cancel_jobs=maybe")).await.pointers(422), ["cancel_jobs"]);
    }
    client.delete(&format!("/integrations/{integration}?cancel_jobs=true")).await.ok(204);
    client.delete(&format!("/apps/{app}")).await.ok(204);
}
