use crate::support::{Receiver, Server, a_webhook, an_app, an_event};
use model::actor::Role;
use serde_json::json;
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn gauges_are_read_at_the_call_and_within_the_scope(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let (own, foreign) = (an_app(&client, "Own").await, an_app(&client, "Foreign").await);
    let integration = a_webhook(&client, &own, "http://127.0.0.1:9/").await;
    a_webhook(&client, &foreign, "http://127.0.0.1:9/").await;
    client.post("/events", json!([an_event(&own, "1"), an_event(&foreign, "1")])).await.ok(202);
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
async fn the_chart_has_every_bucket_of_its_window(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    for (query, buckets, step) in [("", 60, 60), ("?window=24h", 96, 900), ("?window=7d", 84, 7_200)] {
        let chart = client.get(&format!("/stats/throughput{query}")).await.ok(200);
        assert_eq!(
            (chart["buckets"].as_array().unwrap().len(), &chart["step_seconds"]),
            (buckets, &json!(step))
        );
    }
    assert_eq!(client.get("/stats/throughput?window=1y").await.pointers(422), ["window"]);
    let unknown = "/stats/throughput?integration_id=01890a5d-ac96-774b-bcce-b302099a8057";
    client.get(unknown).await.problem(404);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn percentiles_are_told_of_a_window_its_buckets_and_each_integration(pool: PgPool) {
    let server = Server::with_workers(pool).await;
    let client = server.operator();
    let app = an_app(&client, "Shop").await;
    let receiver = Receiver::answering(400).await;
    let refused = a_webhook(&client, &app, &receiver.url()).await;
    client.post("/events", json!([an_event(&app, "1"), an_event(&app, "2")])).await.ok(202);
    server.recorded(2).await;
    let path = format!("/stats/throughput?integration_id={refused}");
    let chart = tokio::time::timeout(std::time::Duration::from_secs(20), async {
        loop {
            let chart = client.get(&path).await.ok(200);
            if chart["latency"]["count"] == 2 {
                return chart;
            }
        }
    })
    .await
    .expect("two attempts within seconds");
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
    let gauges = client.get("/stats/integrations").await.ok(200);
    let gauge = gauges["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|gauge| gauge["integration_id"] == json!(refused))
        .unwrap();
    assert_eq!(gauge["latency"]["count"], 2);
    let portal = server.key(Role::Portal, Some(&an_app(&client, "Foreign").await)).await;
    assert!(portal.get("/stats/throughput").await.ok(200)["latency"].is_null(), "of its own app alone");
}
