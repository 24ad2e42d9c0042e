//! Editing the payload of a failed job.

use crate::support::{Receiver, Server, a_job, a_webhook, an_event};
use model::actor::Role;
use serde_json::{Value, json};
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_failed_job_is_sent_with_another_payload_and_the_log_has_both(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    let receiver = Receiver::answering(400).await;
    let integration = a_webhook(&client, &app, &receiver.url()).await;
    let payload = json!({"n": 1, "token": "old-secret"});
    let new = json!({"integration_id": integration, "job_type": "export", "payload": payload});
    let made = client.post("/jobs", new).await.ok(201);
    let path = format!("/jobs/{}", made["items"][0]["id"].as_str().unwrap());
    receiver.next().await;
    server.recorded(1).await;

    let better = json!({"n": 2, "token": "new-secret"});
    for role in [Role::Support, Role::Auditor] {
        let other = server.key(role, None).await;
        other.post(&format!("{path}/edit"), json!({"payload": better})).await.problem(403);
    }
    let deep = (0..70).fold(json!(1), |inner, _| json!([inner]));
    client.post(&format!("{path}/edit"), json!({"payload": deep})).await.problem(422);
    let edited = client.post(&format!("{path}/edit"), json!({"payload": better})).await.ok(200);
    assert_eq!((&edited["payload"], &edited["attempt"]), (&better, &json!(0)));
    assert_eq!(receiver.next().await.1["payload"], better);

    let log = client.get("/audit-log?action=job.edit").await.ok(200);
    let line = &log["items"][0];
    assert_eq!(line["before"], json!({"payload": {"n": 1, "token": "[masked]"}}));
    assert_eq!(line["after"], json!({"payload": {"n": 2, "token": "[masked, another value]"}}));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_that_have_not_failed_or_follow_a_record_cannot_be_edited(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    let receiver = Receiver::answering(400).await;
    let integration = a_webhook(&client, &app, &receiver.url()).await;
    client.post("/events", an_event(&app, "1")).await.ok(202);
    server.recorded(1).await;
    let list = client.get(&format!("/jobs?integration_id={integration}&status=failed")).await.ok(200);
    let of_record = list["items"][0]["id"].as_str().unwrap();
    client.act(&format!("/integrations/{integration}/pause")).await.ok(200);
    let waits = a_job(&client, &integration).await;
    for id in [of_record, waits.as_str()] {
        client.post(&format!("/jobs/{id}/edit"), json!({"payload": 1})).await.problem(409);
    }
    assert_eq!(client.get(&format!("/jobs/{waits}")).await.ok(200)["payload"], json!({"n": 1}));
    assert_eq!(client.get("/audit-log?action=job.edit").await.ok(200)["items"], Value::Array(Vec::new()));
}
