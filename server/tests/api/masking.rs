//! Secrets in payloads, answers and records: which roles see them, and which read `[masked]`.

use crate::support::{Client, Receiver, Server};
use model::actor::Role;
use serde_json::{Value, json};
use sqlx::PgPool;

const SECRET: &str = "hunter2hunter2";

async fn a_masking_webhook(client: &Client, app: &str, url: &str) -> String {
    let body = json!({
        "app_id": app, "name": "Shop", "integration_type": "webhook", "endpoint_url": url,
        "metadata": {"masked_fields": ["customer.email", "phone"]},
    });
    client.post("/integrations", body).await.ok(201)["id"].as_str().unwrap().to_owned()
}

fn a_payload() -> Value {
    json!({
        "n": 1, "apiKey": SECRET, "customer": {"email": format!("{SECRET}@x.test"), "name": "Ada"},
        "list": [{"phone": SECRET, "note": format!("password={SECRET}")}],
    })
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn only_operators_and_producers_read_secrets(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    // The answer contains a secret of the request.
    let receiver = Receiver::answering_with(400, format!(r#"{{"error":"bad","token":"{SECRET}"}}"#)).await;
    let integration = a_masking_webhook(&client, &app, &receiver.url()).await;
    let new = json!({"integration_id": integration, "job_type": "export", "payload": a_payload()});
    let made = client.post("/jobs", new).await.ok(201);
    let id = made["items"][0]["id"].as_str().unwrap();
    let record = json!({
        "app_id": app, "type": "record.updated", "record_type": "product", "record_id": "1", "attributes": a_payload(),
    });
    client.post("/events", record).await.ok(202);
    server.recorded(2).await;
    let dead = client.get("/dead-letters").await.ok(200)["items"][0]["id"].as_str().unwrap().to_owned();
    let job = format!("/jobs/{id}");
    let letter = format!("/dead-letters/{dead}");
    let catalog = format!("/records/{app}/product/1");
    let status = format!("/integrations/{integration}/status");
    let lists = ["/jobs", "/dead-letters", "/dead-letters/groups", "/records", "/records/trail?q=1", &status];

    for path in [job.as_str(), &letter, &catalog].into_iter().chain(lists) {
        for role in [Role::Support, Role::Auditor, Role::Portal] {
            let key = server.key(role, (role == Role::Portal).then_some(app.as_str())).await;
            let answer = key.get(path).await;
            answer.ok(200);
            assert!(!answer.text.contains(SECRET), "{role} {path}: {}", answer.text);
        }
    }
    let support = server.key(Role::Support, None).await;
    let seen = support.get(&job).await.ok(200);
    assert_eq!(
        seen["payload"],
        json!({
            "n": 1, "apiKey": "[masked]", "customer": {"email": "[masked]", "name": "Ada"},
            "list": [{"phone": "[masked]", "note": "password=[masked]"}],
        })
    );
    assert_eq!(seen["attempts"][0]["response_excerpt"], r#"{"error":"bad","token":"[masked]"}"#);
    let excerpt =
        |seen: &Value| seen["attempts"][0]["exchange"]["request"]["excerpt"].as_str().unwrap().to_owned();
    assert!(excerpt(&seen).contains(r#""apiKey":"[masked]""#), "{}", excerpt(&seen));
    assert!(excerpt(&client.get(&job).await.ok(200)).contains(SECRET), "operators see it, as in the payload");
    let requeued = support.act(&format!("{job}/requeue")).await;
    requeued.ok(200);
    assert!(!requeued.text.contains(SECRET), "{}", requeued.text);

    let producer = server.key(Role::Producer, Some(&app)).await;
    for reader in [&client, &producer] {
        assert_eq!(reader.get(&job).await.ok(200)["payload"], a_payload());
    }
    assert_eq!(client.get(&catalog).await.ok(200)["attributes"], a_payload());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn sent_data_is_masked_too_and_delivered_unmasked(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    let receiver = Receiver::answering(200).await;
    let integration = a_masking_webhook(&client, &app, &receiver.url()).await;
    let record = json!({
        "app_id": app, "type": "record.updated", "record_type": "product", "record_id": "1", "attributes": a_payload(),
    });
    client.post("/events", record).await.ok(202);
    let (_, body) = receiver.next().await;
    assert_eq!(body["changes"]["set"], a_payload());
    server.recorded(1).await;
    let path = format!("/integrations/{integration}/sent");
    let sent = server.key(Role::Portal, Some(&app)).await.get(&path).await;
    assert_eq!(sent.ok(200)["items"][0]["attributes"]["customer"]["email"], "[masked]");
    assert!(!sent.text.contains(SECRET));
    assert_eq!(client.get(&path).await.ok(200)["items"][0]["attributes"], a_payload());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_audit_line_of_a_purge_has_its_error_masked(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    // The answer contains a secret of the request.
    let receiver = Receiver::answering_with(400, format!(r#"{{"error":"bad","token":"{SECRET}"}}"#)).await;
    let integration = a_masking_webhook(&client, &app, &receiver.url()).await;
    let new = json!({"integration_id": integration, "job_type": "export", "payload": a_payload()});
    client.post("/jobs", new).await.ok(201);
    server.recorded(1).await;
    let letter = client.get("/dead-letters").await.ok(200)["items"][0].clone();
    assert!(letter["error_message"].as_str().unwrap().contains(SECRET), "{letter}");
    client.delete(&format!("/dead-letters/{}", letter["id"].as_str().unwrap())).await.ok(204);
    let auditor = server.key(Role::Auditor, None).await;
    for reader in [&auditor, &client] {
        let log = reader.get("/audit-log?action=dead_letter.purge").await;
        let error = log.ok(200)["items"][0]["before"]["error_message"].clone();
        assert!(error.as_str().unwrap().contains("[masked]"), "{error}");
        assert!(!log.text.contains(SECRET), "{}", log.text);
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_invalid_list_of_masked_fields_is_refused(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let id = a_masking_webhook(&client, &app, "http://127.0.0.1:9/").await;
    for masked in [json!("email"), json!([1]), json!(["a..b"])] {
        let changes = json!({"metadata": {"masked_fields": masked}});
        let answer = client.patch(&format!("/integrations/{id}"), changes).await;
        assert_eq!(answer.pointers(422), ["/metadata/masked_fields"]);
    }
}
