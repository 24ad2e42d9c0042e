//! Jobs that a program of its own runs, as the API shows them: lane, progress, result.

use crate::support::Server;
use model::job::JobStatus;
use queue::{Job, JobError, JobHandler, LeasedJob, testing::TestKit};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgPool;
use std::sync::Arc;
use tokio::sync::Notify;

#[derive(Serialize, Deserialize)]
struct Export {
    rows: u64,
}
impl Job for Export {
    const JOB_TYPE: &'static str = "export";
}

/// Waits half-way.
struct Exporter(Arc<Notify>);
impl JobHandler<Export> for Exporter {
    type Output = serde_json::Value;
    async fn run(&self, export: Export, job: &LeasedJob) -> Result<serde_json::Value, JobError> {
        job.progress(export.rows / 2, export.rows, "half of it")?;
        self.0.notified().await;
        Ok(json!({"rows": export.rows}))
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn running_jobs_show_progress_and_completed_ones_their_result(pool: PgPool) {
    let server = Server::start(pool.clone()).await;
    let client = server.operator();
    let go_on = Arc::new(Notify::new());
    let kit = TestKit::open(&pool).await.unwrap().handle(Exporter(Arc::clone(&go_on)));
    // Another program creates the job, by the API.
    let lane = kit.client().integration_id();
    let body = json!({"integration_id": lane, "job_type": "export", "payload": {"rows": 1_000}});
    let made = client.post("/jobs", body).await.ok(201);
    let id = made["items"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/jobs/{id}");
    let before = client.get(&path).await.ok(200);
    assert!(before["progress"].is_null() && before["result"].is_null(), "{before}");

    let running = tokio::spawn(async move { kit.run(id.parse().unwrap()).await.unwrap() });
    let job = client.until(&path, |job| !job["progress"].is_null()).await;
    let progress = &job["progress"];
    assert_eq!(
        (&progress["done"], &progress["total"], &progress["note"]),
        (&json!(500), &json!(1_000), &json!("half of it"))
    );
    go_on.notify_one();
    assert_eq!(running.await.unwrap().job.status, JobStatus::Completed);
    let after = client.get(&path).await.ok(200);
    assert!(after["progress"].is_null(), "{after}");
    assert_eq!(after["result"], json!({"rows": 1_000}));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn operators_can_change_a_programs_lane(pool: PgPool) {
    let server = Server::start(pool.clone()).await;
    let client = server.operator();
    let go_on = Arc::new(Notify::new());
    let kit = TestKit::open(&pool).await.unwrap().handle(Exporter(Arc::clone(&go_on)));
    let path = format!("/integrations/{}", kit.client().integration_id());
    assert_eq!(client.get(&path).await.ok(200)["integration_type"], "external");
    client.patch(&path, json!({"max_concurrency": 3, "name": "Exports"})).await.ok(200);
    let id = kit.client().enqueue(&pool, Export { rows: 2 }).await.unwrap().id;
    client.act(&format!("{path}/pause")).await.ok(200);
    assert!(kit.run_until_idle().await.unwrap().is_empty());
    client.act(&format!("{path}/resume")).await.ok(200);
    go_on.notify_one();
    assert_eq!(kit.run(id).await.unwrap().job.status, JobStatus::Completed);
}
