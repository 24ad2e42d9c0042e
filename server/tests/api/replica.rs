//! `HEADGATE_DATABASE_READ_URL`: only lists are read from it, and its lag is reported.

use crate::support::{Answer, Client, Server, a_webhook, an_app, an_event};
use model::actor::Role;
use reqwest::Method;
use serde_json::{Value, json};
use server::replica::Lag;
use sqlx::{PgPool, postgres::PgConnectOptions};

/// A replica that has received nothing since the schema was created.
async fn a_stale_replica(pool: &PgPool) -> PgPool {
    let options = pool.connect_options();
    let name = format!("headgate_replica_{}", uuid::Uuid::now_v7().simple());
    let create = format!("create database \"{name}\"");
    sqlx::raw_sql(sqlx::AssertSqlSafe(create)).execute(pool).await.unwrap();
    let replica = PgPool::connect_with(PgConnectOptions::clone(&options).database(&name)).await.unwrap();
    queue::migrate::run(&replica).await.unwrap();
    replica
}

async fn drop_replica(pool: &PgPool, replica: PgPool) {
    let name = replica.connect_options().get_database().unwrap().to_owned();
    replica.close().await;
    let gone = format!("drop database \"{name}\" with (force)");
    sqlx::raw_sql(sqlx::AssertSqlSafe(gone)).execute(pool).await.unwrap();
}

const CAUSE: &str = "00000000000000aa";

/// Creates a failure group with a job of the integration.
async fn a_failure(pool: &PgPool, integration: &str) {
    sqlx::query(
        "with own as (
            insert into headgate.failure_counts (fingerprint, integration_id, waiting, first_at, last_at, error_kind, error_message)
            values ($1 || 'ff', $2, 1, now(), now(), 'retryable', 'no shelf')
        )
        insert into headgate.failure_groups (cause, waiting, first_at, last_at, error_kind, error_message)
        values ($1, 1, now(), now(), 'retryable', 'no shelf')",
    )
    .bind(CAUSE)
    .bind(integration.parse::<uuid::Uuid>().unwrap())
    .execute(pool)
    .await
    .unwrap();
}

async fn at_root(client: &Client, path: &str) -> Answer {
    Answer::of(client.request(Method::GET, path)).await
}

async fn items(client: &Client, path: &str) -> Vec<Value> {
    client.get(path).await.ok(200)["items"].as_array().unwrap().clone()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn lists_are_read_from_the_replica_and_single_objects_from_the_primary(pool: PgPool) {
    let replica = a_stale_replica(&pool).await;
    let behind = Server::with_replica(pool.clone(), replica.clone()).await;
    let client = behind.operator();
    let app = an_app(&client, "Acme").await;
    let shop = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    client.post("/events", an_event(&app, "1")).await.ok(202);
    let resync = client.post(&format!("/integrations/{shop}/resync"), json!({})).await.ok(202);
    let cancel = json!({"action": "cancel", "filter": {"integration_id": shop}});
    client.post("/jobs/bulk", cancel).await.ok(200);
    client.post("/api-keys", json!({"name": "ci", "role": "support"})).await.ok(201);
    client
        .post(
            "/users",
            json!({"email": "a@x.test", "name": "A", "role": "support", "password": "correct horse battery"}),
        )
        .await
        .ok(201);
    a_failure(&pool, &shop).await;
    let lists = [
        "/apps",
        "/integrations",
        "/records",
        "/resyncs",
        "/operations",
        "/jobs",
        "/dead-letters",
        "/api-keys",
        "/users",
        "/audit-log",
        "/failures",
    ];
    for list in lists {
        assert_eq!(items(&client, list).await, [] as [Value; 0], "{list} is not read from the replica");
    }
    // Lists of an integration that the replica does not have are 404.
    client.get(&format!("/integrations/{shop}/sent")).await.problem(404);
    client.get(&format!("/integrations/{shop}/breaker/flips")).await.problem(404);
    let line: uuid::Uuid =
        sqlx::query_scalar("select id from headgate.audit_log limit 1").fetch_one(&pool).await.unwrap();
    let resync = resync["resync_id"].as_str().unwrap();
    for one in [
        format!("/apps/{app}"),
        format!("/integrations/{shop}"),
        format!("/integrations/{shop}/status"),
        format!("/records/{app}/product/1"),
        format!("/resyncs/{resync}"),
        format!("/audit-log/{line}"),
        format!("/failures/{CAUSE}"),
    ] {
        client.get(&one).await.ok(200);
    }

    let up_to_date = Server::start(pool.clone()).await;
    let client = up_to_date.operator();
    for list in lists.iter().filter(|list| **list != "/dead-letters") {
        assert!(!items(&client, list).await.is_empty(), "{list}");
    }
    drop((behind, up_to_date));
    drop_replica(&pool, replica).await;
}

/// Writes a snapshot with this time, as replication would.
async fn replicate(replica: &PgPool, moment: &'static str) {
    let written = format!("insert into headgate.live_snapshots (at, body) values ({moment}, '{{}}')");
    sqlx::raw_sql(sqlx::AssertSqlSafe(written)).execute(replica).await.unwrap();
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_replicas_lag_is_reported_everywhere(pool: PgPool) {
    let replica = a_stale_replica(&pool).await;
    let server = Server::with_replica(pool.clone(), replica.clone()).await;
    let mut lag = server.state.replica.as_ref().unwrap().watch_lag();
    lag.wait_for(|lag| *lag == Lag::Unknown).await.unwrap();
    let readyz = async || at_root(&server.anonymous(), "/readyz").await.json();
    let unknown = readyz().await;
    assert_eq!(unknown["checks"]["replica"]["state"], "degraded", "{unknown}");

    replicate(&replica, "clock_timestamp() - interval '1 minute'").await;
    lag.wait_for(|lag| lag.reportable_seconds().is_some()).await.unwrap();
    let behind = server.operator().get("/jobs").await;
    assert!(behind.header("x-lists-behind-seconds").parse::<i64>().unwrap() >= 50);
    assert!(readyz().await["checks"]["replica"]["detail"].as_str().unwrap().contains("s behind"));
    let metrics = at_root(&server.anonymous(), "/metrics").await.text;
    let reported =
        metrics.lines().find_map(|line| line.strip_prefix("headgate_replica_lag_seconds ")).unwrap();
    assert!(reported.parse::<f64>().unwrap() >= 50.0, "{reported}");
    let person = server.person("ada", Role::Operator).await;
    let page = at_root(&person, "/jobs").await.text;
    assert!(page.contains("Lists are ") && page.contains(" behind"), "{page}");

    replicate(&replica, "clock_timestamp() + interval '1 hour'").await;
    lag.wait_for(|lag| matches!(lag, Lag::Of(_)) && lag.reportable_seconds().is_none()).await.unwrap();
    assert_eq!(server.operator().get("/jobs").await.header("x-lists-behind-seconds"), "");
    assert_eq!(readyz().await["checks"]["replica"]["state"], "ok");
    let page = at_root(&person, "/jobs").await.text;
    assert!(!page.contains("Lists are "));
    drop(server);
    drop_replica(&pool, replica).await;
}
