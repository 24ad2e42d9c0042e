use crate::support::{Receiver, Server, a_webhook, an_app, an_event};
use model::{actor::Role, stats::IntegrationGauge};
use serde_json::{Value, json};
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn gauges_are_limited_to_the_scope(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let (own, foreign) = (an_app(&client, "Own").await, an_app(&client, "Foreign").await);
    let integration = a_webhook(&client, &own, "http://127.0.0.1:9/").await;
    a_webhook(&client, &foreign, "http://127.0.0.1:9/").await;
    client.post("/events", json!([an_event(&own, "1"), an_event(&foreign, "1")])).await.ok(202);
    server.sampled().await;
    let overview = client.get("/stats/overview").await.ok(200);
    assert_eq!(overview["totals"]["backlog"], 2);
    let portal = server.key(Role::Portal, Some(&own)).await;
    let overview = portal.get("/stats/overview").await.ok(200);
    assert_eq!(overview["totals"]["backlog"], 1);
    let gauges = portal.get("/stats/integrations").await.ok(200);
    assert!(gauges["items"].as_array().unwrap().iter().all(|gauge| gauge["app_id"] == json!(own)));
    assert!(
        gauges["items"].as_array().unwrap().iter().any(|gauge| gauge["integration_id"] == json!(integration))
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn gauges_come_from_the_shared_snapshot(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    a_webhook(&client, &an_app(&client, "Shop").await, "http://127.0.0.1:9/").await;
    server.sampled().await;
    let sampled = || server.state.live.current().snapshot.as_ref().map(|snapshot| snapshot.at);
    loop {
        let before = sampled();
        let overview = client.get("/stats/overview").await.ok(200);
        let gauges = client.get("/stats/integrations").await.ok(200);
        if before == sampled() {
            assert_eq!(overview["at"], json!(before), "from the hub, not a new one");
            assert_eq!(gauges["items"], overview["integrations"]);
            return;
        }
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_chart_has_every_bucket_of_its_window(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    for (query, buckets, step) in [
        ("", 60, 60),
        ("?window=15m", 90, 10),
        ("?window=6h", 72, 300),
        ("?window=24h", 96, 900),
        ("?window=7d", 84, 7_200),
        ("?window=15m&at=2026-01-01T00:00:00Z", 15, 60),
    ] {
        let chart = client.get(&format!("/stats/throughput{query}")).await.ok(200);
        assert_eq!(
            (chart["buckets"].as_array().unwrap().len(), &chart["step_seconds"]),
            (buckets, &json!(step))
        );
    }
    for (query, buckets, step) in [("?window=15m", 15, 60), ("", 60, 60), ("?window=7d", 84, 7_200)] {
        let chart = client.get(&format!("/stats/levels{query}")).await.ok(200);
        assert_eq!(
            (chart["buckets"].as_array().unwrap().len(), &chart["step_seconds"]),
            (buckets, &json!(step))
        );
        assert!(chart["buckets"][0]["backlog"].is_null(), "a step without a record is not 0");
    }
    let own = server.key(Role::Portal, Some(&an_app(&client, "Shop").await)).await;
    own.get("/stats/levels").await.problem(403);
    assert_eq!(client.get("/stats/throughput?window=1y").await.pointers(422), ["window"]);
    let unknown = "/stats/throughput?integration_id=01890a5d-ac96-774b-bcce-b302099a8057";
    client.get(unknown).await.problem(404);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn percentiles_exist_for_window_buckets_and_integrations(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    let receiver = Receiver::answering(400).await;
    let refused = a_webhook(&client, &app, &receiver.url()).await;
    client.post("/events", json!([an_event(&app, "1"), an_event(&app, "2")])).await.ok(202);
    server.recorded(2).await;
    let path = format!("/stats/throughput?integration_id={refused}");
    let chart = client.until(&path, |chart| chart["latency"]["count"] == 2).await;
    let latency = &chart["latency"];
    assert!(
        latency["p50_ms"].as_i64() >= Some(1) && latency["p50_ms"].as_i64() <= latency["p99_ms"].as_i64()
    );
    assert_eq!(chart["wait"]["count"], 2);
    let in_buckets: i64 = chart["buckets"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|bucket| bucket["latency"]["count"].as_i64())
        .sum();
    assert_eq!(in_buckets, 2);
    let counts = |gauge: &IntegrationGauge| gauge.latency.is_some_and(|latency| latency.count == 2);
    server.until_snapshot(|snapshot| snapshot.integrations.iter().any(counts)).await;
    let gauges = client.get("/stats/integrations").await.ok(200);
    let gauges = gauges["items"].as_array().unwrap();
    let gauge = gauges.iter().find(|gauge| gauge["integration_id"] == json!(refused)).unwrap();
    assert_eq!(gauge["latency"]["count"], 2);
    let portal = server.key(Role::Portal, Some(&an_app(&client, "Foreign").await)).await;
    assert!(portal.get("/stats/throughput").await.ok(200)["latency"].is_null(), "only of its own app");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_past_minute_is_returned_as_recorded_and_limited_to_the_scope(pool: PgPool) {
    let server = Server::start(pool.clone()).await;
    let client = server.operator();
    let (own, foreign) = (an_app(&client, "Own").await, an_app(&client, "Foreign").await);
    a_webhook(&client, &own, "http://127.0.0.1:9/").await;
    a_webhook(&client, &foreign, "http://127.0.0.1:9/").await;
    client.post("/events", json!([an_event(&own, "1"), an_event(&foreign, "1")])).await.ok(202);
    let mut conn = pool.acquire().await.unwrap();
    let lease = std::time::Duration::from_secs(60);
    let holder = model::id::WorkerId::generate();
    // The server's own maintenance is leader, or about to be: its lease is ended until we get it.
    let term = loop {
        let end = "update headgate.leader set expires_at = clock_timestamp() - interval '1 second'";
        sqlx::query(end).execute(&mut *conn).await.unwrap();
        if let Some(term) = queue::store::leader::acquire(&mut conn, holder, lease).await.unwrap() {
            break term;
        }
    };
    // Minutes the server wrote while it was leader would be newer than ours.
    sqlx::query("delete from headgate.gauge_minutes").execute(&mut *conn).await.unwrap();
    let mut snapshot = insight::store::stats::snapshot(&pool).await.unwrap();
    snapshot.at -= chrono::TimeDelta::hours(2);
    let moment = model::stats::Moment { snapshot, workers: Vec::new() };
    let mut writer = insight::store::stats::minutes::Writer::default();
    assert!(writer.write(&pool, term, &moment).await.unwrap());
    let at = moment.snapshot.at.format("%Y-%m-%dT%H:%M:%SZ");
    client.post("/events", json!([an_event(&own, "2")])).await.ok(202);

    let then = client.get(&format!("/stats/overview?at={at}")).await.ok(200);
    assert_eq!(then, serde_json::to_value(&moment.snapshot).unwrap());
    let portal = server.key(Role::Portal, Some(&own)).await;
    let then = portal.get(&format!("/stats/overview?at={at}")).await.ok(200);
    assert_eq!(then["totals"]["backlog"], 1);
    for missing in ["2020-01-01T00:00:00Z", "2199-01-01T00:00:00Z"] {
        let problem = client.get(&format!("/stats/overview?at={missing}")).await.problem(404);
        let nearest = moment.snapshot.at.format("%Y-%m-%dT%H:%MZ").to_string();
        assert!(problem["detail"].as_str().unwrap().contains(&nearest), "{problem}");
    }
    assert_eq!(client.get("/stats/overview?at=yesterday").await.pointers(422), ["at"]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn activity_is_paged_and_limited_to_the_scope(pool: PgPool) {
    let server = Server::start(pool.clone()).await;
    let client = server.operator();
    let (own, foreign) = (an_app(&client, "Own").await, an_app(&client, "Foreign").await);
    let integration = a_webhook(&client, &own, "http://127.0.0.1:9/").await;
    a_webhook(&client, &foreign, "http://127.0.0.1:9/").await;
    client.post(&format!("/integrations/{integration}/pause"), json!({})).await.ok(200);
    client.post(&format!("/integrations/{integration}/resume"), json!({})).await.ok(200);
    let until =
        json!({"action": "hold", "until": (chrono::Utc::now() + chrono::TimeDelta::hours(1)).to_rfc3339()});
    client.post(&format!("/integrations/{integration}/breaker"), until).await.ok(200);
    sqlx::query(
        "insert into headgate.system_events (id, kind, host, version) select $1, 'version', 'h', '9.9.9'",
    )
    .bind(uuid::Uuid::now_v7())
    .execute(&pool)
    .await
    .unwrap();

    let all = client.get("/stats/activity").await.ok(200);
    let items = all["items"].as_array().unwrap();
    let actions: Vec<&str> = items.iter().map(|item| item["action"].as_str().unwrap()).collect();
    let expected = [
        "deploy",
        "breaker.open",
        "integration.resume",
        "integration.pause",
        "integration.create",
        "integration.create",
        "app.create",
        "app.create",
    ];
    assert_eq!(actions, expected, "a breaker held by an operator is listed once; {all}");
    assert_eq!(items[0]["message"], "Headgate 9.9.9 runs for the first time");
    assert_eq!(items[1]["integration_id"], json!(integration));
    assert!(items[3]["message"].as_str().unwrap().contains(" paused by "), "{all}");

    assert_eq!(&client.pages("/stats/activity?limit=3").await.concat(), items);
    let portal = server.key(Role::Portal, Some(&foreign)).await;
    let theirs = portal.get("/stats/activity").await.ok(200);
    let theirs = theirs["items"].as_array().unwrap();
    assert_eq!(theirs.len(), 2);
    assert!(theirs.iter().all(|item| item["app_id"] == json!(foreign)));
    let from = client.get("/stats/activity?from=2199-01-01T00:00:00Z").await.ok(200);
    assert_eq!(from["items"], json!([]));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn answers_and_limit_use_are_reported_over_time_within_the_scope(pool: PgPool) {
    let server = Server::with_workers(pool).await;
    let client = server.operator();
    let (app, other) = (an_app(&client, "Shop").await, an_app(&client, "Other").await);
    let receiver = Receiver::answering(400).await;
    let body = json!({
        "app_id": app, "name": "ERP", "integration_type": "webhook", "endpoint_url": receiver.url(),
        "rate_limit": [{"requests": 50, "per_seconds": 1}, {"requests": 1_000, "per_seconds": 60}],
    });
    let integration = client.post("/integrations", body).await.ok(201);
    let id = integration["id"].as_str().unwrap();
    client.post("/events", json!([an_event(&app, "1"), an_event(&app, "2")])).await.ok(202);
    server.recorded(2).await;
    let sum = |list: &Value, of: &str| -> i64 {
        list.as_array().unwrap().iter().map(|step| step[of].as_i64().unwrap()).sum()
    };

    // Both limits gave a slot to each request.
    for (window, steps) in [("1h", 60), ("24h", 96)] {
        let used = client.get(&format!("/integrations/{id}/rate-limit-use?window={window}")).await.ok(200);
        let limits = used["items"].as_array().unwrap();
        assert_eq!(limits.len(), 2);
        for limit in limits {
            assert_eq!(limit["steps"].as_array().unwrap().len(), steps);
            assert_eq!((sum(&limit["steps"], "given"), &limit["integration_ids"]), (2, &json!([id])));
        }
    }
    // Answers are counted in memory and written once a second.
    let path = format!("/stats/integrations/{id}/answers");
    let statuses = |answers: &Value| -> Vec<Value> {
        let buckets = answers["buckets"].as_array().unwrap().iter();
        buckets.flat_map(|bucket| bucket["statuses"].as_array().unwrap().clone()).collect()
    };
    let answers = client.until(&path, |answers| sum(&json!(statuses(answers)), "count") == 2).await;
    assert!(statuses(&answers).iter().all(|status| status["status"] == 400));

    let other_portal = server.key(Role::Portal, Some(&other)).await;
    other_portal.get(&path).await.problem(404);
    other_portal.get(&format!("/integrations/{id}/rate-limit-use")).await.problem(404);
    assert_eq!(client.get(&format!("{path}?window=2h")).await.pointers(422), ["window"]);
    assert_eq!(
        client.get(&format!("/integrations/{id}/rate-limit-use?window=7d")).await.pointers(422),
        ["window"]
    );
}
