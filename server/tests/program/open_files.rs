//! A process with a low limit of open files.

use crate::support::{Database, Program, eventually};
use axum::{Router, routing::post};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{net::TcpListener, sync::watch};

const TIMEOUT: Duration = Duration::from_secs(60);
const JOBS: usize = 150;

#[tokio::test]
async fn deliveries_without_a_free_file_wait_and_no_attempt_counts() {
    let database = Database::create().await;
    let (answers, receiver) = a_receiver_that_waits().await;
    let program = Program::serve_with_files(&database, 140, &[("HEADGATE_WORKERS", "200")]).await;
    let api = program.api();
    let app = api.app("shop").await;
    let more = json!({"timeout_ms": 600_000, "max_concurrency": 200});
    let integration = api.webhook(&app, "slow", &receiver, more).await;
    let job = json!({"integration_id": integration, "job_type": "export", "payload": {}});
    api.post("/jobs", &json!(vec![job; JOBS])).await;
    eventually("all files are open", TIMEOUT, async || {
        program.log().contains("a delivery waits: this process has too many open files").then_some(())
    })
    .await;
    answers.send_replace(true);
    let done = eventually("all jobs are done", TIMEOUT, async || {
        let path = format!("/jobs?integration_id={integration}&status=completed&limit=500");
        // While no file is free, the API may fail to connect to the database.
        let answer = api.send(Method::GET, &path, None).await.text().await.unwrap();
        let jobs = serde_json::from_str::<Value>(&answer).unwrap()["items"].as_array()?.clone();
        (jobs.len() == JOBS).then_some(jobs)
    })
    .await;
    assert!(done.iter().all(|job| job["attempt"] == 1), "{done:?}");
    let breaker = api.get(&format!("/integrations/{integration}")).await["breaker"].clone();
    assert_eq!((&breaker["state"], &breaker["failures_in_a_row"]), (&json!("closed"), &json!(0)));
    assert_eq!(program.stop().await, Some(0));
    database.drop().await;
}

/// Accepts requests, and answers all of them once the sender allows it.
async fn a_receiver_that_waits() -> (watch::Sender<bool>, String) {
    let (answers, may_answer) = watch::channel(false);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let answer = post(async move || {
        let mut may_answer = may_answer.clone();
        let _ = may_answer.wait_for(|may_answer| *may_answer).await;
    });
    let router = Router::new().route("/", answer);
    tokio::spawn(async move { axum::serve(listener, router).await });
    (answers, url)
}
