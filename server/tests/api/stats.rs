use crate::support::{Server, a_webhook, an_app, an_event};
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
