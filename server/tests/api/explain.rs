//! `GET /jobs/{id}/explain`: creates each cause for real, and expects it as the reason.

use crate::support::{Client, Receiver, Server, a_job, a_webhook, a_worker, an_event, an_external, claim};
use chrono::{DateTime, TimeDelta, Utc};
use model::id::WorkerId;
use serde_json::{Value, json};
use sqlx::PgPool;
use std::time::Duration;

/// A server without workers of its own, an app, and a registered worker that claims nothing by itself, so that no other cause applies.
struct Deployment {
    pool: PgPool,
    server: Server,
    client: Client,
    app: String,
    worker_id: WorkerId,
}

impl Deployment {
    async fn new(pool: PgPool) -> Self {
        let (server, client, app) = Server::with_app(pool.clone()).await;
        let worker_id = a_worker(&pool).await;
        Self { pool, server, client, app, worker_id }
    }

    async fn webhook(&self) -> String {
        a_webhook(&self.client, &self.app, "http://127.0.0.1:9/").await
    }

    async fn job(&self, more: Value) -> String {
        let mut body = json!({"job_type": "export"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let made = self.client.post("/jobs", body).await.ok(201);
        made["items"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Claims the next job, as a worker does.
    async fn claim(&self) {
        claim(&self.pool, self.worker_id).await;
    }

    async fn run(&self, sql: &'static str) {
        assert!(sqlx::query(sql).execute(&self.pool).await.unwrap().rows_affected() > 0, "{sql}");
    }

    async fn explain(&self, job: &str) -> Value {
        self.client.get(&format!("/jobs/{job}/explain")).await.ok(200)
    }

    /// The only reason, and when the job runs.
    async fn only_reason(&self, job: &str, code: &str) -> (Value, Option<DateTime<Utc>>) {
        let why = self.explain(job).await;
        assert_eq!(codes(&why), [code], "{why}");
        let reason = why["reasons"][0].clone();
        for field in ["detail", "remedy"] {
            assert!(reason[field].as_str().is_some_and(|text| text.ends_with('.')), "{field}: {why}");
        }
        let runs_at = time(&why["runs_at"]);
        assert_eq!(runs_at, time(&reason["until"]), "it runs when its only gate opens: {why}");
        (reason, runs_at)
    }
}

fn codes(why: &Value) -> Vec<&str> {
    why["reasons"].as_array().unwrap().iter().map(|reason| reason["code"].as_str().unwrap()).collect()
}

fn time(value: &Value) -> Option<DateTime<Utc>> {
    value.as_str().map(|text| text.parse().unwrap())
}

fn in_an_hour() -> DateTime<Utc> {
    Utc::now() + TimeDelta::hours(1)
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn pauses_and_held_breakers_are_the_reason_until_they_end(pool: PgPool) {
    let deployment = Deployment::new(pool).await;
    let id = deployment.webhook().await;
    let job = a_job(&deployment.client, &id).await;
    let path = format!("/integrations/{id}");
    let free = deployment.explain(&job).await;
    assert_eq!(codes(&free), ["next_in_line"], "{free}");
    assert!(time(&free["runs_at"]).is_some(), "{free}");

    deployment.client.post(&format!("{path}/pause"), json!({"reason": "stocktaking"})).await.ok(200);
    let (reason, runs_at) = deployment.only_reason(&job, "integration_paused").await;
    assert!(reason["detail"].as_str().unwrap().contains("stocktaking") && runs_at.is_none());
    deployment.client.act(&format!("{path}/resume")).await.ok(200);

    deployment.client.patch(&path, json!({"state": "disabled"})).await.ok(200);
    assert_eq!(deployment.only_reason(&job, "integration_disabled").await.1, None);
    deployment.client.patch(&path, json!({"state": "active"})).await.ok(200);

    let until = in_an_hour();
    deployment
        .client
        .post(&format!("{path}/breaker"), json!({"action": "hold", "until": until}))
        .await
        .ok(200);
    let (_, runs_at) = deployment.only_reason(&job, "circuit_open").await;
    assert!(runs_at.is_some_and(|at| (at - until).abs() < TimeDelta::milliseconds(1)));
    deployment.client.post(&format!("{path}/breaker"), json!({"action": "close"})).await.ok(200);
    assert_eq!(codes(&deployment.explain(&job).await), ["next_in_line"]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_run_time_is_given_when_it_is_known(pool: PgPool) {
    let deployment = Deployment::new(pool).await;
    let id = deployment.webhook().await;
    let at = in_an_hour();
    let job = deployment.job(json!({"integration_id": id, "run_at": at})).await;
    let (_, runs_at) = deployment.only_reason(&job, "scheduled").await;
    assert!(runs_at.is_some_and(|runs_at| (runs_at - at).abs() < TimeDelta::milliseconds(1)));

    let limited = deployment.client.post("/integrations", json!({
        "app_id": deployment.app, "name": "Slow", "integration_type": "webhook", "endpoint_url": "http://127.0.0.1:9/",
        "rate_limit": {"requests": 1, "per_seconds": 60},
    }));
    let limited = limited.await.ok(201)["id"].as_str().unwrap().to_owned();
    let job = a_job(&deployment.client, &limited).await;
    deployment.run("update headgate.rate_limits set tat_us = (extract(epoch from clock_timestamp()) * 1e6)::bigint + 60000000").await;
    let (_, runs_at) = deployment.only_reason(&job, "rate_limited").await;
    assert!(runs_at.is_some_and(|at| at > Utc::now()));
    deployment.run("update headgate.rate_limits set tat_us = 0").await;
    assert_eq!(codes(&deployment.explain(&job).await), ["next_in_line"]);

    deployment.run("update headgate.lanes set quiet_until = clock_timestamp() + interval '1 minute'").await;
    let (reason, runs_at) = deployment.only_reason(&job, "held_by_receiver").await;
    assert!(reason["detail"].as_str().unwrap().contains("429") && runs_at.is_some());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_failed_job_waits_for_its_retry(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    let receiver = Receiver::answering(503).await;
    let id = a_webhook(&client, &app, &receiver.url()).await;
    client.patch(&format!("/integrations/{id}"), json!({"retry_schedule": "1h"})).await.ok(200);
    let job = a_job(&client, &id).await;
    server.recorded(1).await;
    let why = client.get(&format!("/jobs/{job}/explain")).await.ok(200);
    assert_eq!((codes(&why), &why["state"]), (vec!["waiting_retry"], &json!("to_be_retried")));
    let retry_at = client.get(&format!("/jobs/{job}")).await.ok(200)["retry_at"].clone();
    assert!(time(&retry_at).is_some());
    assert_eq!(
        (time(&why["reasons"][0]["until"]), time(&why["runs_at"])),
        (time(&retry_at), time(&retry_at))
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_that_go_first_are_counted(pool: PgPool) {
    let deployment = Deployment::new(pool).await;
    let id = deployment.webhook().await;
    let keyed = json!({"integration_id": id, "serialize_key": "k"});
    deployment.job(keyed.clone()).await;
    deployment.job(keyed.clone()).await;
    let third = deployment.job(keyed).await;
    let (reason, runs_at) = deployment.only_reason(&third, "behind_serialize_key").await;
    assert_eq!((&reason["detail"], runs_at), (&json!("2 jobs of its serialize key go first."), None));

    let other = deployment.webhook().await;
    a_job(&deployment.client, &other).await;
    let second = a_job(&deployment.client, &other).await;
    let (reason, runs_at) = deployment.only_reason(&second, "behind_in_queue").await;
    assert_eq!((&reason["detail"], runs_at), (&json!("1 job goes first."), None));
    sqlx::query("insert into headgate.ready (integration_id, rank, created_at, job_id)
        select r.integration_id, r.rank, r.created_at - interval '1 hour', gen_random_uuid() from headgate.ready r, generate_series(1, 2000)
        where r.job_id = $1::uuid")
        .bind(&second)
        .execute(&deployment.pool)
        .await
        .unwrap();
    let (reason, _) = deployment.only_reason(&second, "behind_in_queue").await;
    assert_eq!(reason["detail"], "1,000 or more jobs go first.");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn full_concurrency_and_missing_workers_are_reasons(pool: PgPool) {
    let deployment = Deployment::new(pool).await;
    let id = deployment.webhook().await;
    deployment.client.patch(&format!("/integrations/{id}"), json!({"max_concurrency": 1})).await.ok(200);
    let first = a_job(&deployment.client, &id).await;
    let second = a_job(&deployment.client, &id).await;
    deployment.claim().await;
    assert_eq!(
        deployment.only_reason(&second, "concurrency_full").await.0["detail"],
        "1 of 1 jobs is running."
    );
    let running = deployment.explain(&first).await;
    assert_eq!((codes(&running), &running["runs_at"]), (vec![], &Value::Null));
    deployment.client.act(&format!("/jobs/{first}/cancel")).await.ok(200);
    deployment.only_reason(&first, "cancel_requested").await;

    let external = an_external(&deployment.client, &deployment.app).await;
    let job = a_job(&deployment.client, &external).await;
    let (reason, _) = deployment.only_reason(&job, "no_worker").await;
    assert!(reason["detail"].as_str().unwrap().contains("external worker"));

    let other = deployment.webhook().await;
    let job = a_job(&deployment.client, &other).await;
    deployment.run("update headgate.workers set is_draining = true").await;
    let (reason, _) = deployment.only_reason(&job, "no_worker").await;
    assert!(reason["detail"].as_str().unwrap().contains("start a worker"));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_parked_job_names_its_paused_resync(pool: PgPool) {
    let deployment = Deployment::new(pool).await;
    deployment.client.post("/events", an_event(&deployment.app, "1")).await.ok(202);
    let id = deployment.webhook().await;
    let resync = deployment.client.post(&format!("/integrations/{id}/resync"), json!({})).await.ok(202);
    let resync = resync["resync_id"].as_str().unwrap();
    deployment.client.act(&format!("/resyncs/{resync}/pause")).await.ok(200);
    let parked = async {
        loop {
            let jobs = deployment.client.get(&format!("/jobs?integration_id={id}")).await.ok(200);
            let Some(job) = jobs["items"][0]["id"].as_str() else { continue };
            if codes(&deployment.explain(job).await) != ["next_in_line"] {
                return job.to_owned();
            }
        }
    };
    let job = tokio::time::timeout(Duration::from_secs(60), parked).await.expect("the re-sync makes its job");
    let (reason, runs_at) = deployment.only_reason(&job, "resync_paused").await;
    assert!(reason["detail"].as_str().unwrap().contains(resync) && runs_at.is_none());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn lost_leases_and_ended_jobs_are_explained(pool: PgPool) {
    let deployment = Deployment::new(pool).await;
    let id = deployment.webhook().await;
    let job = a_job(&deployment.client, &id).await;
    deployment.claim().await;
    // The lease of the job itself: had the worker lost its lease, recovery could release the job before the check.
    deployment.run("update headgate.jobs set lease_until = clock_timestamp() - interval '1 second'").await;
    deployment.only_reason(&job, "lease_lost").await;

    let ended = a_job(&deployment.client, &deployment.webhook().await).await;
    deployment.client.act(&format!("/jobs/{ended}/cancel")).await.ok(200);
    let why = deployment.explain(&ended).await;
    assert_eq!((codes(&why), &why["state"], &why["runs_at"]), (vec![], &json!("cancelled"), &Value::Null));
    drop(deployment.server);
}
