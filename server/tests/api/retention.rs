use crate::support::Server;
use serde_json::json;
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn retention_lists_sizes_and_times(pool: PgPool) {
    let server = Server::start(pool).await;
    let retention = server.operator().get("/retention").await.ok(200);
    let kept = retention["kept"].as_array().unwrap();
    let of = |what: &str| kept.iter().find(|kept| kept["what"] == what).unwrap();
    assert_eq!(of("finished_jobs")["seconds"], retention["retention_seconds"]);
    assert!(of("finished_jobs")["oldest_day"].is_string(), "{kept:?}");
    assert_eq!(of("audit_log")["seconds"], json!(365 * 86_400));
    assert_eq!(of("resyncs")["seconds"], of("operations")["seconds"]);
    assert_eq!(of("records")["seconds"], json!(null));
    let rules = retention["rules"].as_array().unwrap();
    let setting = |what: &str| rules.iter().find(|rule| rule["what"] == what).unwrap()["setting"].clone();
    assert_eq!(setting("finished_jobs"), "HEADGATE_RETENTION");
    assert_eq!(setting("deleted_records"), "HEADGATE_DELETED_RECORD_RETENTION");
    assert_eq!(rules[0]["seconds"], rules[0]["default_seconds"]);
    let sum: i64 = kept.iter().map(|kept| kept["bytes"].as_i64().unwrap()).sum();
    assert_eq!(retention["database_bytes"], json!(sum));
    assert!(kept.iter().all(|kept| kept["bytes"].as_i64() > Some(0)), "{kept:?}");
}
