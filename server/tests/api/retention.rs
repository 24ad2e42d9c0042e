use crate::support::Server;
use serde_json::json;
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_is_kept_is_told_with_its_room_and_its_time(pool: PgPool) {
    let server = Server::start(pool).await;
    let retention = server.operator().get("/retention").await.ok(200);
    let kept = retention["kept"].as_array().unwrap();
    let of = |what: &str| kept.iter().find(|kept| kept["what"] == what).unwrap();
    assert_eq!(of("finished_jobs")["seconds"], retention["retention_seconds"]);
    assert!(of("finished_jobs")["oldest_day"].is_string(), "{kept:?}");
    assert_eq!(of("audit_log")["seconds"], json!(null));
    let sum: i64 = kept.iter().map(|kept| kept["bytes"].as_i64().unwrap()).sum();
    assert_eq!(retention["database_bytes"], json!(sum));
    assert!(kept.iter().all(|kept| kept["bytes"].as_i64() > Some(0)), "{kept:?}");
}
