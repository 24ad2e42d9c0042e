//! Transactions that the database aborts in favour of others are retried, so that calls do not fail because of busy workers. A call that loses every
//! time, or waits too long for a lock, is 503.

use crate::support::{Client, Server, a_job, a_webhook, an_app, an_event};
use reqwest::Method;
use serde_json::json;
use sqlx::PgPool;

/// The next writes to a table fail as deadlocks, this many times.
async fn cause_deadlocks(pool: &PgPool, table: &str, moment: &str, times: i64) {
    cause_failures(pool, table, moment, times, "40P01").await;
}

/// The next writes to a table fail with this code, this many times.
async fn cause_failures(pool: &PgPool, table: &str, moment: &str, times: i64, code: &str) {
    sqlx::raw_sql(sqlx::AssertSqlSafe(format!(
        "drop sequence if exists public.tries cascade;
         drop function if exists public.lose() cascade;
         create sequence public.tries;
         create function public.lose() returns trigger language plpgsql as $$
         begin
             if nextval('public.tries') <= {times} then raise exception 'made to fail' using errcode = '{code}'; end if;
             return coalesce(new, old);
         end $$;
         create trigger lose before {moment} on headgate.{table} for each row execute function public.lose()"
    )))
    .execute(pool)
    .await
    .unwrap();
}

async fn a_dead_letter(pool: &PgPool, client: &Client, integration: &str) -> String {
    let job = a_job(client, integration).await;
    let id: uuid::Uuid = sqlx::query_scalar(
        "with gone as (delete from headgate.jobs where id = $1::uuid returning *),
              left_line as (delete from headgate.ready where job_id = $1::uuid)
         insert into headgate.dead_letter_jobs (id, job_id, app_id, integration_id, created_at, run_at, failed_at, rank, priority, attempt,
             max_attempts, is_full, folded, job_type, correlation_id, payload, error_kind, error_message, fingerprint, attempts)
         select id, id, app_id, integration_id, created_at, run_at, now(), rank, priority, 1, max_attempts, is_full, folded, job_type, correlation_id, payload,
             'http', 'no', 'f', '[]'
         from gone returning id",
    )
    .bind(&job)
    .fetch_one(pool)
    .await
    .unwrap();
    id.to_string()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn deadlocks_are_retried(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool.clone()).await;
    let integration = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    let job = a_job(&client, &integration).await;
    let requeued = a_dead_letter(&pool, &client, &integration).await;
    let purged = a_dead_letter(&pool, &client, &integration).await;
    let of_integration = format!("/integrations/{integration}");
    let of_app = format!("/apps/{app}");
    let steps = [
        ("finished_jobs", "insert", Method::POST, format!("/jobs/{job}/cancel"), None, 200),
        ("jobs", "insert", Method::POST, format!("/jobs/{job}/requeue"), None, 200),
        ("jobs", "insert", Method::POST, format!("/dead-letters/{requeued}/requeue"), None, 200),
        ("dead_letter_jobs", "delete", Method::DELETE, format!("/dead-letters/{purged}"), None, 204),
        ("integrations", "update", Method::PATCH, of_integration.clone(), Some(json!({"name": "New"})), 200),
        ("integrations", "update", Method::POST, format!("{of_integration}/rotate-secret"), None, 200),
        ("resyncs", "insert", Method::POST, format!("{of_integration}/resync"), None, 202),
        ("integrations", "update", Method::POST, format!("{of_integration}/pause"), None, 200),
        ("integrations", "update", Method::POST, format!("{of_integration}/resume"), None, 200),
        ("integrations", "delete", Method::DELETE, format!("{of_integration}?cancel_jobs=true"), None, 204),
        ("apps", "insert", Method::POST, "/apps".to_owned(), Some(json!({"name": "Second"})), 201),
        ("apps", "update", Method::PATCH, of_app.clone(), Some(json!({"name": "New"})), 200),
        ("apps", "delete", Method::DELETE, format!("{of_app}?cancel_jobs=true"), None, 204),
    ];
    for (table, moment, method, path, body, status) in steps {
        cause_deadlocks(&pool, table, moment, 3).await;
        let answer = client.call(method.clone(), &path, body).await;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text);
        let tries: i64 =
            sqlx::query_scalar("select last_value from public.tries").fetch_one(&pool).await.unwrap();
        assert!(tries >= 4, "{method} {path} never lost");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn repeated_conflicts_and_lock_timeouts_are_503(pool: PgPool) {
    let server = Server::start(pool.clone()).await;
    let client = server.operator();
    let keyed = client.clone().with("idempotency-key", "k");
    let app = an_app(&client, "Shop").await;
    let integration = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    let job = a_job(&client, &integration).await;
    let new = json!({"integration_id": integration, "job_type": "export"});
    let of_integration = format!("/integrations/{integration}");
    // Lock timeout, serialisation failure, deadlock.
    let codes = ["55P03", "40001", "40P01"];
    for (client, table, moment, method, path, body) in [
        (&client, "jobs", "insert", Method::POST, "/jobs".to_owned(), Some(new.clone())),
        (&keyed, "jobs", "insert", Method::POST, "/jobs".to_owned(), Some(new)),
        (&client, "records", "insert", Method::POST, "/events".to_owned(), Some(an_event(&app, "1"))),
        (&client, "finished_jobs", "insert", Method::POST, format!("/jobs/{job}/cancel"), None),
        (&client, "resyncs", "insert", Method::POST, format!("{of_integration}/resync"), None),
        (&client, "integrations", "update", Method::POST, format!("{of_integration}/pause"), None),
        (
            &client,
            "integrations",
            "update",
            Method::PATCH,
            of_integration.clone(),
            Some(json!({"name": "New"})),
        ),
        (
            &client,
            "integrations",
            "delete",
            Method::DELETE,
            format!("{of_integration}?cancel_jobs=true"),
            None,
        ),
    ] {
        // Accepting events has retries of its own, so one code is enough.
        for code in codes.iter().take(if path == "/events" { 1 } else { codes.len() }) {
            cause_failures(&pool, table, moment, i64::MAX, code).await;
            let answer = client.call(method.clone(), &path, body.clone()).await;
            let problem = answer.problem(503);
            assert_eq!(problem["type"], "urn:headgate:problem:held", "{code} {method} {path}");
            assert_eq!(answer.header("retry-after"), "1");
        }
        cause_failures(&pool, table, moment, 0, "55P03").await;
    }
    assert_eq!(client.act(&format!("/jobs/{job}/cancel")).await.ok(200)["status"], "cancelled");
}
