//! `/metrics`: valid, complete, documented, and without cost for the database.

use crate::support::{Receiver, Server, a_webhook, an_event};
use serde_json::json;
use sqlx::PgPool;
use std::collections::{BTreeMap, BTreeSet};

async fn scrape(server: &Server) -> String {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let response = client.get(format!("http://{}/metrics", server.address)).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    response.text().await.unwrap()
}

/// The kind of each metric; panics on a line Prometheus would refuse.
fn kinds(text: &str) -> BTreeMap<&str, &str> {
    let mut kinds = BTreeMap::new();
    let (mut helped, mut series) = ("", BTreeSet::new());
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            helped = help.split_once(' ').unwrap().0;
            continue;
        }
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert_eq!(name, helped, "HELP comes before TYPE");
            assert!(kinds.insert(name, kind).is_none(), "{name} is in two places");
            continue;
        }
        let (labelled, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
        let (name, labels) = labelled.split_once('{').unwrap_or((labelled, "}"));
        assert!(labels.ends_with('}') && labels.matches('"').count() % 2 == 0, "{line}");
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{line}");
        let parts = ["_bucket", "_sum", "_count"];
        let of = parts
            .iter()
            .find_map(|part| name.strip_suffix(part).filter(|of| kinds.get(of) == Some(&"histogram")));
        assert_eq!(of.unwrap_or(name), helped, "{line} is under another's name");
        assert!(series.insert(labelled), "{labelled} occurs twice");
    }
    for (name, kind) in &kinds {
        assert_eq!(name.ends_with("_total"), *kind == "counter", "{name} is a {kind}");
    }
    kinds
}

fn value(text: &str, series: &str) -> f64 {
    let found = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("no {series} in\n{text}")).parse().unwrap()
}

/// Scrapes until it holds.
async fn until(server: &Server, holds: impl Fn(&str) -> bool) -> String {
    let waited = tokio::time::timeout(std::time::Duration::from_secs(60), async {
        loop {
            let text = scrape(server).await;
            if holds(&text) {
                return text;
            }
            tokio::task::yield_now().await;
        }
    });
    waited.await.expect("it never held")
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn all_metrics_are_valid_and_documented(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool.clone()).await;
    let receiver = Receiver::answering(400).await;
    let refused = a_webhook(&client, &app, &receiver.url()).await;
    client
        .patch(&format!("/integrations/{refused}"), json!({"rate_limit": {"requests": 50, "per_seconds": 1}}))
        .await
        .ok(200);
    client.post("/events", json!([an_event(&app, "1"), an_event(&app, "2")])).await.ok(202);
    server.recorded(2).await;
    sqlx::query(
        "update headgate.recounts set finished_at = clock_timestamp(), last_drift = 1, last_proven = 2",
    )
    .execute(&pool)
    .await
    .unwrap();
    sqlx::query("vacuum headgate.jobs").execute(&pool).await.unwrap();
    sqlx::query(
        "insert into headgate.throughput_deltas (integration_id, lost) values (gen_random_uuid(), 3)",
    )
    .execute(&pool)
    .await
    .unwrap();
    let text = until(&server, |text| {
        text.contains("headgate_attempts_total{outcome=\"dead\"} 2")
            && text.contains("headgate_attempts_total{outcome=\"lost\"} 3")
            && text.contains("headgate_recount_last_run_timestamp_seconds")
            && text.contains("headgate_integration_attempt_duration_p95_seconds")
            && text.contains("headgate_table_last_vacuum_age_seconds")
            && text.contains("headgate_warning{")
            && text.contains("headgate_attempt_duration_seconds_count 2")
            && text.contains("headgate_jobs{status=\"failed\"} 2")
            && text.contains("headgate_is_leader 1")
    })
    .await;
    let kinds = kinds(&text);
    assert_eq!(value(&text, "headgate_attempts_total{outcome=\"retried\"}"), 0.0);
    assert_eq!(value(&text, "headgate_finish_jobs_sum"), 2.0);
    assert_eq!(value(&text, "headgate_job_wait_seconds_count"), 2.0);
    assert_eq!(value(&text, "headgate_count_drift_jobs"), 1.0);
    assert!(value(&text, "headgate_maintenance_runs_total{service=\"sample\"}") > 0.0);
    assert!(!text.contains("Shop"), "no names, which users choose");

    // The document has a row for each metric, with its kind, and no others. The retry pyramid is empty here.
    let document = include_str!("../../METRICS.md");
    let documented: BTreeMap<&str, &str> = document
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split('|');
            Some((cells.next()?.trim().trim_end_matches('`').split('{').next()?, cells.next()?.trim()))
        })
        .collect();
    let exported: BTreeMap<&str, &str> =
        kinds.into_iter().chain([("headgate_retry_pyramid", "gauge")]).collect();
    assert_eq!(documented, exported);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn scrapes_do_not_query_jobs(pool: PgPool) {
    let server = Server::start(pool.clone()).await;
    until(&server, |text| text.contains("headgate_jobs{") && text.contains("headgate_leader_term")).await;
    let mut watcher = pool.acquire().await.unwrap();
    // Maintenance reads jobs all the time. So it is stopped by giving the leader's lease to somebody else, to measure scrapes alone.
    sqlx::query("update headgate.leader set holder = gen_random_uuid(), term = term + 1, expires_at = clock_timestamp() + interval '1 hour'")
        .execute(&mut *watcher)
        .await
        .unwrap();
    let mut is_leader = server.state.maintenance.watch_leader();
    is_leader.wait_for(|is_leader| !is_leader).await.unwrap();
    let read = "select seq_scan + coalesce(idx_scan, 0) + coalesce(seq_tup_read, 0) from pg_stat_user_tables
        where schemaname = 'headgate' and relname = 'jobs'";
    // Flushes statistics that are still pending before the count.
    sqlx::query("select pg_stat_force_next_flush()").execute(&mut *watcher).await.unwrap();
    let before: i64 = sqlx::query_scalar(read).fetch_one(&mut *watcher).await.unwrap();
    for _ in 0..100 {
        kinds(&scrape(&server).await);
    }
    sqlx::query("select pg_stat_force_next_flush()").execute(&mut *watcher).await.unwrap();
    let after: i64 = sqlx::query_scalar(read).fetch_one(&mut *watcher).await.unwrap();
    assert_eq!(after, before);
}

#[tokio::test]
async fn metrics_work_without_a_database() {
    let nowhere =
        sqlx::postgres::PgPoolOptions::new().connect_lazy("postgres://nobody@127.0.0.1:1/x").unwrap();
    let server = Server::start(nowhere).await;
    let text = scrape(&server).await;
    let kinds = kinds(&text);
    assert!(kinds.contains_key("process_cpu_seconds_total") && !kinds.contains_key("headgate_jobs"));
    assert!(value(&text, "headgate_snapshot_age_seconds").is_nan());
    assert_eq!(value(&text, "headgate_is_leader"), 0.0);
}
