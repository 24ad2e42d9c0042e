use crate::support::{Receiver, Server, a_webhook, an_event};
use model::actor::Role;
use serde_json::{Value, json};
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_integration_shows_its_secret_once(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let made = client
        .post(
            "/integrations",
            json!({
                "app_id": app, "name": "ERP", "integration_type": "webhook", "endpoint_url": "http://127.0.0.1:9/erp",
                "rate_limit": {"requests": 10, "per_seconds": 1}, "record_types": ["product"],
                "headers": {"x-tenant": "7"}, "credentials": {"authorization": "Bearer s3cret"}, "metadata": {"k": [1]},
            }),
        )
        .await
        .ok(201);
    assert!(made["signing_secret"].as_str().unwrap().starts_with("whsec_"));
    assert_eq!(made["max_concurrency"], 50);
    let path = format!("/integrations/{}", made["id"].as_str().unwrap());
    let read = client.get(&path).await;
    assert!(!read.text.contains("whsec_") && !read.text.contains("s3cret"), "{}", read.text);
    let read = read.ok(200);
    assert_eq!(read["rate_limit"], json!({"requests": 10, "per_seconds": 1}));
    assert_eq!((&read["state"], &read["has_credentials"]), (&json!("active"), &json!(true)));
    let rotated = client.act(&format!("{path}/rotate-secret")).await.ok(200);
    assert_ne!(rotated["signing_secret"], made["signing_secret"]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn absent_fields_stay_and_null_resets_them(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let path = format!("/integrations/{}", a_webhook(&client, &app, "http://127.0.0.1:9/").await);
    let limits = json!([{"requests": 1, "per_seconds": 1}, {"requests": 30, "per_seconds": 60}]);
    let changed = client.patch(&path, json!({"rate_limit": limits, "timeout_ms": 500})).await.ok(200);
    assert_eq!((&changed["rate_limit"], &changed["timeout_ms"]), (&limits, &json!(500)));
    let changed = client.patch(&path, json!({"timeout_ms": null})).await.ok(200);
    assert_eq!((&changed["rate_limit"], &changed["timeout_ms"]), (&limits, &Value::Null));
    let full =
        json!({"max_concurrency": 3, "max_attempts": 4, "headers": {"x-a": "1"}, "metadata": {"k": 1}});
    client.patch(&path, full).await.ok(200);
    let changed = client.patch(&path, json!({"retry_schedule": "0s, 10s,1m"})).await.ok(200);
    assert_eq!((&changed["retry_schedule"], &changed["max_attempts"]), (&json!("0s, 10s,1m"), &json!(4)));
    let wrong = client.patch(&path, json!({"retry_schedule": "now and then"})).await;
    assert_eq!(wrong.pointers(422), ["/retry_schedule"]);
    assert!(wrong.text.contains("must be a list of waits such as 0s,10s,1m"), "{}", wrong.text);
    let null = json!({"max_concurrency": null, "max_attempts": null, "retry_schedule": null, "headers": null, "metadata": null, "record_types": null,
                      "bundle_window_seconds": null, "rate_limit": null, "credentials": null});
    let changed = client.patch(&path, null).await.ok(200);
    assert_eq!((&changed["max_concurrency"], &changed["max_attempts"]), (&json!(50), &Value::Null));
    assert_eq!(changed["retry_schedule"], Value::Null);
    assert_eq!(
        (&changed["headers"], &changed["metadata"], &changed["rate_limit"]),
        (&json!({}), &json!({}), &Value::Null)
    );
    for field in ["name", "endpoint_url", "state"] {
        let pointer = format!("/{field}");
        let mut null = json!({"timeout_ms": 700});
        null[field] = Value::Null;
        assert_eq!(client.patch(&path, null).await.pointers(422), [pointer]);
    }
    assert_eq!(client.get(&path).await.ok(200)["timeout_ms"], Value::Null);
    for field in ["name", "slug"] {
        let mut null = json!({});
        null[field] = Value::Null;
        assert_eq!(client.patch(&format!("/apps/{app}"), null).await.pointers(422), [format!("/{field}")]);
    }
    let changed = client.patch(&path, json!({"state": "disabled"})).await.ok(200);
    assert_eq!(changed["state"], "disabled");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_retry_follows_the_schedule_of_the_integration(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    let receiver = Receiver::answering(503).await;
    let body = json!({"app_id": app, "name": "Slow", "integration_type": "webhook", "endpoint_url": receiver.url(),
                      "retry_schedule": "3h"});
    let made = client.post("/integrations", body).await.ok(201);
    assert_eq!(made["retry_schedule"], "3h");
    client.post("/events", an_event(&app, "1")).await.ok(202);
    server.recorded(1).await;
    let id = made["id"].as_str().unwrap();
    let jobs = client.get(&format!("/jobs?integration_id={id}")).await.ok(200);
    assert_eq!(jobs["items"][0]["status"], "to_be_retried");
    let job = client.get(&format!("/jobs/{}", jobs["items"][0]["id"].as_str().unwrap())).await.ok(200);
    let attempt = &job["attempts"][0];
    assert_eq!(
        (&attempt["next_wait_ms"], &attempt["next_wait_reason"], &attempt["error_kind"]),
        (&json!(10_800_000), &json!("step 1 of the integration's retry schedule"), &json!("retryable"))
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_paused_integration_accepts_jobs_and_shows_its_reason(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let path = format!("/integrations/{}", a_webhook(&client, &app, "http://127.0.0.1:9/").await);
    let paused = client.post(&format!("{path}/pause"), json!({"reason": "stocktaking"})).await.ok(200);
    assert_eq!((&paused["state"], &paused["state_reason"]), (&json!("paused"), &json!("stocktaking")));
    client.post("/events", an_event(&app, "1")).await.ok(202);
    let status = client.get(&format!("{path}/status")).await.ok(200);
    assert_eq!((&status["sync_state"], &status["backlog"]), (&json!("paused"), &json!(1)));
    assert_eq!((&status["records_total"], &status["records_in_sync"]), (&json!(1), &json!(0)));
    let list = client.get("/integrations?state=paused").await.ok(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    assert_eq!(client.act(&format!("{path}/resume")).await.ok(200)["state"], "active");
    assert_eq!(client.act(&format!("{path}/pause")).await.ok(200)["state"], "paused");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_test_returns_the_systems_answer(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let receiver = Receiver::answering(202).await;
    let id = a_webhook(&client, &app, &receiver.url()).await;
    let report = client.act(&format!("/integrations/{id}/test")).await.ok(200);
    assert_eq!(
        (&report["id"], &report["is_success"], &report["response_status"]),
        (&json!(id), &json!(true), &json!(202))
    );
    assert_eq!(report["response_excerpt"], "thank you");
    let (headers, _) = receiver.next().await;
    assert_eq!(headers["webhook-signature"].to_str().unwrap(), report["webhook_signature"]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn sent_records_are_listed(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    let receiver = Receiver::answering(200).await;
    let id = a_webhook(&client, &app, &receiver.url()).await;
    client
        .post("/events", json!([an_event(&app, "1"), an_event(&app, "2"), an_event(&app, "3")]))
        .await
        .ok(202);
    server.recorded(3).await;
    let first = client.get(&format!("/integrations/{id}/sent?limit=2")).await.ok(200);
    let ids = |list: &Value| -> Vec<String> {
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|sent| sent["record_id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&first), ["1", "2"]);
    assert_eq!(first["items"][0]["attributes"], json!({"title": "Lamp", "price": 5}));
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = client.get(&format!("/integrations/{id}/sent?limit=2&cursor={cursor}")).await.ok(200);
    assert_eq!((ids(&second), &second["next_cursor"]), (vec!["3".to_owned()], &Value::Null));
    let one = client.get(&format!("/integrations/{id}/sent?record_type=product&record_id=2")).await.ok(200);
    assert_eq!(ids(&one), ["2"]);
    let status = client.get(&format!("/integrations/{id}/status")).await.ok(200);
    assert_eq!((&status["sync_state"], &status["records_in_sync"]), (&json!("in_sync"), &json!(3)));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn query_values_of_a_url_are_masked_for_roles_that_cannot_configure(pool: PgPool) {
    let (server, client, app) = Server::with_app(pool).await;
    let address = "http://127.0.0.1:9/in?code=hunter2&v=1";
    let path = format!("/integrations/{}", a_webhook(&client, &app, address).await);
    assert_eq!(client.get(&path).await.ok(200)["endpoint_url"], address);
    for (role, app) in [(Role::Support, None), (Role::Auditor, None), (Role::Portal, Some(app.as_str()))] {
        let reader = server.key(role, app).await;
        let shown = "http://127.0.0.1:9/in?code=[masked]&v=[masked]";
        assert_eq!(reader.get(&path).await.ok(200)["endpoint_url"], shown, "{role}");
        let list = reader.get("/integrations").await.ok(200);
        assert_eq!(list["items"][0]["endpoint_url"], shown, "{role}");
        if role == Role::Auditor {
            let log = reader.get("/audit-log?action=integration.create").await.ok(200);
            assert_eq!(log["items"][0]["after"]["endpoint_url"], shown);
            let line = format!("/audit-log/{}", log["items"][0]["id"].as_str().unwrap());
            assert_eq!(reader.get(&line).await.ok(200)["after"]["endpoint_url"], shown);
            assert_eq!(client.get(&line).await.ok(200)["after"]["endpoint_url"], address);
        }
    }
}
