use crate::support::{Server, a_webhook, an_app, an_event};
use serde_json::json;
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_large_deletion_continues_as_an_operation(pool: PgPool) {
    let server = Server::start(pool.clone()).await;
    let client = server.operator();
    let (app, other) = (an_app(&client, "Shop").await, an_app(&client, "Mill").await);
    a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    for app in [&app, &other] {
        client.post("/events", an_event(app, "1")).await.ok(202);
    }
    sqlx::query(
        "insert into headgate.records (app_id, record_type, record_id, attributes, attribute_bytes)
        select $1, 'page', n::text, '{}', 2 from generate_series(1, 20000) n",
    )
    .bind(app.parse::<uuid::Uuid>().unwrap())
    .execute(&pool)
    .await
    .unwrap();
    let started = client.delete(&format!("/apps/{app}?cancel_jobs=true")).await.ok(202);
    let path = format!("/operations/{}", started["operation_id"].as_str().unwrap());

    // From the answer on it does not exist for anybody.
    client.get(&format!("/apps/{app}")).await.problem(404);
    client.get(&format!("/records/{app}/product/1")).await.problem(404);
    assert_eq!(client.post("/events", an_event(&app, "2")).await.pointers(404), ["/app_id"]);
    let records = client.get("/records").await.ok(200);
    let of_other = records["items"].as_array().unwrap();
    assert!(of_other.len() == 1 && of_other[0]["app_id"] == json!(other), "{records}");
    assert_eq!(client.get("/jobs").await.ok(200)["items"], json!([]));

    let operation = client.get(&path).await.ok(200);
    assert_eq!((&operation["subject"], &operation["action"]), (&json!("app"), &json!("delete")));
    assert_eq!((&operation["deleted_name"], &operation["filter"]["app_id"]), (&json!("Shop"), &json!(app)));
    for step in ["pause", "abort", "undo"] {
        client.act(&format!("{path}/{step}")).await.problem(409);
    }
    while client.get(&path).await.ok(200)["state"] != "done" {
        tokio::task::yield_now().await;
    }
    let left: i64 =
        sqlx::query_scalar("select count(*) from headgate.records").fetch_one(&pool).await.unwrap();
    assert_eq!(left, 1);
    client.delete(&format!("/apps/{other}")).await.ok(204);
}
