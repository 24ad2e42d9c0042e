//! A host whose clock is wrong signs requests by the database's clock.

use crate::support::{Behaviour, Database, Program, Receiver, eventually};
use serde_json::json;
use std::{path::PathBuf, process::Command, time::Duration};

const TIMEOUT: Duration = Duration::from_secs(60);

/// A library that, when preloaded, shifts a process's clock an hour ahead.
fn shifted_clock() -> PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/queue/tests/faults/shifted_clock.c");
    let library = std::env::temp_dir().join(format!("headgate-clock-{}.so", uuid::Uuid::now_v7()));
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-DSHIFT=3600", source, "-o"])
        .arg(&library)
        .status()
        .unwrap();
    assert!(made.success(), "cc: {made}");
    library
}

#[tokio::test]
async fn a_host_an_hour_ahead_signs_by_the_databases_clock_and_is_degraded() {
    let library = shifted_clock();
    let database = Database::create().await;
    let receiver = Receiver::start(Behaviour::AlwaysOk).await;
    let environment = [("LD_PRELOAD", library.to_str().unwrap()), ("HEADGATE_HEARTBEAT_INTERVAL", "1s")];
    let program = Program::serve(&database, &environment).await;
    let api = program.api();
    let app = api.app("a").await;
    for (kind, fields) in [("webhook", json!({})), ("bundle", json!({"bundle_window_seconds": 1}))] {
        let fields = fields.as_object().unwrap().clone();
        let mut body =
            json!({"app_id": app, "name": kind, "integration_type": kind, "endpoint_url": receiver.url});
        body.as_object_mut().unwrap().extend(fields);
        let integration = api.post("/integrations", &body).await;
        let sample = api
            .post(&format!("/integrations/{}/test", integration["id"].as_str().unwrap()), &json!({}))
            .await;
        assert_now(sample["webhook_timestamp"].as_str().unwrap());
    }
    let event = json!({"app_id": app, "type": "record.updated", "record_type": "product", "record_id": "1", "attributes": {"n": 1}});
    api.post("/events", &event).await;
    let signed = eventually("two samples and two changes", TIMEOUT, async || {
        Some(receiver.timestamps()).filter(|signed| signed.len() >= 4)
    })
    .await;
    signed.iter().for_each(|timestamp| assert_now(timestamp));

    eventually("readiness is degraded", TIMEOUT, async || {
        let checks: serde_json::Value = serde_json::from_str(&get(&program, "/readyz").await).unwrap();
        let clock = &checks["checks"]["clock"];
        (clock["state"] == "degraded"
            && clock["detail"].as_str().unwrap().contains("ahead of the database's"))
        .then_some(())
    })
    .await;
    let metrics = get(&program, "/metrics").await;
    let ahead = metrics.lines().find_map(|line| line.strip_prefix("headgate_clock_ahead_seconds ")).unwrap();
    assert!(ahead.parse::<f64>().unwrap() > 3_500.0, "{ahead}");
    assert!(program.log().contains("this host's clock is 3"), "{}", program.log());
    assert_eq!(program.stop().await, Some(0));
    database.drop().await;
    std::fs::remove_file(library).unwrap();
}

async fn get(program: &Program, path: &str) -> String {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    client.get(format!("{}{path}", program.url)).send().await.unwrap().text().await.unwrap()
}

/// Compares with this test's clock, which is the database's.
fn assert_now(timestamp: &str) {
    let off = chrono::Utc::now().timestamp() - timestamp.parse::<i64>().unwrap();
    assert!((-5..600).contains(&off), "signed {off} s ago");
}
