use super::Client;
use model::id::WorkerId;
use queue::store::jobs::ClaimRequest;
use serde_json::{Value, json};
use sqlx::PgPool;

/// A new app's id.
pub(crate) async fn an_app(client: &Client, name: &str) -> String {
    let app = client.post("/apps", json!({"name": name})).await.ok(201);
    app["id"].as_str().unwrap().to_owned()
}

/// A new webhook's id.
pub(crate) async fn a_webhook(client: &Client, app_id: &str, url: &str) -> String {
    let body = json!({"app_id": app_id, "name": "Shop", "integration_type": "webhook", "endpoint_url": url});
    create(client, body).await
}

/// A new integration without URL: its jobs wait for external workers.
pub(crate) async fn an_external(client: &Client, app_id: &str) -> String {
    create(client, json!({"app_id": app_id, "name": "Nightly", "integration_type": "external"})).await
}

async fn create(client: &Client, body: Value) -> String {
    let integration = client.post("/integrations", body).await.ok(201);
    integration["id"].as_str().unwrap().to_owned()
}

/// A new job's id.
pub(crate) async fn a_job(client: &Client, integration_id: &str) -> String {
    let body = json!({"integration_id": integration_id, "job_type": "export.nightly", "payload": {"n": 1}});
    let create = client.post("/jobs", body).await.ok(201);
    create["items"][0]["id"].as_str().unwrap().to_owned()
}

/// A registered worker that claims nothing by itself.
pub(crate) async fn a_worker(pool: &PgPool) -> WorkerId {
    let id = WorkerId::generate();
    let insert = "insert into headgate.workers (id, host, pid, version, slots, lease_until)
        values ($1, 'elsewhere', 1, '0', 1, clock_timestamp() + interval '1 hour')";
    sqlx::query(insert).bind(id.0).execute(pool).await.unwrap();
    id
}

/// Claims the next job for a worker.
pub(crate) async fn claim(pool: &PgPool, worker_id: WorkerId) {
    let claims = ClaimRequest { worker_id, wanted: 1, lane_cap: 1, busy: Default::default(), program: None };
    assert_eq!(queue::store::jobs::claim(pool, &claims).await.unwrap().len(), 1);
}

/// A change of a product.
pub(crate) fn an_event(app_id: &str, record_id: &str) -> Value {
    json!({
        "app_id": app_id,
        "type": "record.updated",
        "record_type": "product",
        "record_id": record_id,
        "attributes": {"title": "Lamp", "price": 5},
    })
}
