//! Without database every call is 503 with `Retry-After`, and none hangs.

use crate::support::{Client, Server};
use serde_json::json;
use sqlx::{PgPool, postgres::PgPoolOptions};
use std::time::Duration;

/// A server whose database is a closed port.
async fn without_database() -> Server {
    let pool: PgPool = PgPoolOptions::new()
        .acquire_timeout(Duration::from_secs(2))
        .connect_lazy("postgres://nobody@127.0.0.1:1/nothing")
        .unwrap();
    Server::start(pool).await
}

async fn assert_unavailable(client: &Client, path: &str) {
    let answer = client.get(path).await;
    answer.problem(503);
    assert!(answer.header("retry-after").parse::<u32>().unwrap() >= 1);
}

#[tokio::test]
async fn every_read_and_write_is_503() {
    let server = without_database().await;
    let client = server.operator();
    let id = "01890a5d-ac96-774b-bcce-b302099a8057";
    for path in ["/apps", "/jobs", "/records", "/stats/overview", "/workers", &format!("/jobs/{id}")] {
        assert_unavailable(&client, path).await;
    }
    let event = json!({
        "app_id": id, "type": "record.updated", "record_type": "product", "record_id": "1", "attributes": {"a": 1},
    });
    let answer = client.post("/events", event.clone()).await;
    answer.problem(503);
    assert!(!answer.header("retry-after").is_empty());
    assert!(
        !answer.text.contains("127.0.0.1") && !answer.text.contains("nobody"),
        "reveals too much: {}",
        answer.text
    );
    client.clone().with("idempotency-key", "k").post("/events", event).await.problem(503);
    client.post("/apps", json!({"name": "Shop"})).await.problem(503);
    // A credential that cannot be looked up is not 401.
    assert_unavailable(&server.anonymous().with_key("hg_auditor_0123456789_secret"), "/apps").await;
    assert_unavailable(&server.anonymous().with("cookie", "headgate=token"), "/apps").await;
    // Invalid input is still recognised.
    client.post("/apps", json!({"nonsense": 1})).await.problem(422);
}
