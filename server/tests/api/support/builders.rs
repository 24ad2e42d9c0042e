use super::Client;
use serde_json::{Value, json};

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
