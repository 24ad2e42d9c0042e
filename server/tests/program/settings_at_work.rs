//! The settings of retries, breaker and timeout take effect in the program.

use crate::support::{Behaviour, Database, Program, Receiver, eventually};
use serde_json::{Value, json};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(60);

#[tokio::test]
async fn settings_of_retries_breaker_and_timeout_take_effect() {
    let database = Database::create().await;
    let down = Receiver::start(Behaviour::FailsOneIn(1)).await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_url = format!("http://{}/", silent.local_addr().unwrap());
    let environment = [
        ("HEADGATE_WORKERS", "7"),
        ("HEADGATE_MAX_ATTEMPTS", "3"),
        ("HEADGATE_RETRY_SCHEDULE", "exponential"),
        ("HEADGATE_RETRY_JITTER", "0"),
        ("HEADGATE_BREAKER_FAILURES", "2"),
        ("HEADGATE_JOB_TIMEOUT", "400ms"),
    ];
    let program = Program::serve(&database, &environment).await;
    let api = program.api();
    let app = api.app("shop").await;
    let failing = api.webhook(&app, "down", &down.url, json!({})).await;
    let hanging = api.webhook(&app, "silent", &silent_url, json!({"retry_schedule": "1h"})).await;
    let event = json!({"app_id": app, "type": "record.updated", "record_type": "product", "record_id": "1", "attributes": {"n": 1}});
    api.post("/events", &event).await;

    let attempts = async |integration: &str| -> (Value, Vec<Value>) {
        let jobs = api.get(&format!("/jobs?integration_id={integration}")).await;
        let id = jobs["items"][0]["id"].as_str().unwrap();
        let job = api.get(&format!("/jobs/{id}")).await;
        let attempts = job["attempts"].as_array().unwrap().clone();
        (job, attempts)
    };
    let (job, tried) = eventually("the second attempt has failed", TIMEOUT, async || {
        Some(attempts(&failing).await)
            .filter(|(job, _)| job["attempt"] == 2 && job["status"] == "to_be_retried")
    })
    .await;
    assert_eq!(job["max_attempts"], 3);
    let waits: Vec<&Value> = tried.iter().map(|attempt| &attempt["next_wait_ms"]).collect();
    assert_eq!(waits, [&json!(2_000), &json!(4_000)], "2^n s, without jitter");
    eventually("two failures in a row open the breaker", TIMEOUT, async || {
        (api.get(&format!("/integrations/{failing}")).await["breaker"]["state"] == "open").then_some(())
    })
    .await;

    let (_, tried) = eventually("an attempt times out", TIMEOUT, async || {
        Some(attempts(&hanging).await).filter(|(job, _)| job["status"] == "to_be_retried")
    })
    .await;
    assert_eq!((&tried[0]["error_kind"], &tried[0]["outcome"]), (&json!("timeout"), &json!("timed_out")));
    assert_eq!(tried[0]["next_wait_ms"], 3_600_000, "the integration's own schedule overrides the setting");
    let took = tried[0]["duration_ms"].as_i64().unwrap();
    assert!((400..10_000).contains(&took), "{took} ms");
    assert_eq!(api.get("/workers").await["items"][0]["slots"], 7);
    assert_eq!(program.stop().await, Some(0));
    database.drop().await;
}
