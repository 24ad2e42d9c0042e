use crate::support::{Server, a_webhook, an_event};
use serde_json::{Value, json};
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_record_shows_the_sent_state_of_each_integration(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let integration = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    client.post("/events", an_event(&app, "a/b c")).await.ok(202);
    let record = client.get(&format!("/records/{app}/product/a%2Fb%20c")).await.ok(200);
    assert_eq!((&record["record_id"], &record["version"]), (&json!("a/b c"), &json!(1)));
    let sync = &record["integrations"][0];
    assert_eq!(
        (&sync["integration_id"], &sync["version"], &sync["in_sync"]),
        (&json!(integration), &Value::Null, &json!(false))
    );
    assert_eq!(sync["job_status"], "pending");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn records_are_paged_in_order_of_their_ids(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let events: Vec<Value> = ["c", "a", "e", "b", "d"].iter().map(|id| an_event(&app, id)).collect();
    client.post("/events", json!(events)).await.ok(202);
    let seen = client.pages(&format!("/records?app_id={app}&record_type=product&limit=2")).await.concat();
    let seen: Vec<&str> = seen.iter().map(|record| record["record_id"].as_str().unwrap()).collect();
    assert_eq!(seen, ["a", "b", "c", "d", "e"]);
    assert_eq!(client.get("/records?cursor=c1zz").await.pointers(422), ["cursor"]);
}
