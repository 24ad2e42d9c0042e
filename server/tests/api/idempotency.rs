use crate::support::{Server, an_app};
use model::actor::Role;
use serde_json::json;
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_same_call_twice_is_done_once(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let app = an_app(&client, "Shop").await;
    let job = json!({"app_id": app, "job_type": "export"});
    let keyed = client.clone().with("idempotency-key", "import-7");
    let first = keyed.post("/jobs", job.clone()).await;
    let second = keyed.post("/jobs", job.clone()).await;
    assert_eq!((first.ok(201), first.header("idempotency-replayed")), (second.ok(201), ""));
    assert_eq!(second.header("idempotency-replayed"), "true");
    assert_eq!(client.get("/jobs").await.ok(200)["items"].as_array().unwrap().len(), 1);
    let other = json!({"app_id": app, "job_type": "import"});
    assert_eq!(keyed.post("/jobs", other).await.pointers(422), ["Idempotency-Key"]);
    // Another path, another credential: another key.
    keyed.post("/apps", json!({"name": "Two"})).await.ok(201);
    let producer = server.key(Role::Producer, Some(&app)).await.with("idempotency-key", "import-7");
    assert_eq!(producer.post("/jobs", job).await.header("idempotency-replayed"), "");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_secret_is_shown_again_to_the_same_call_and_kept_sealed(pool: PgPool) {
    let server = Server::start(pool.clone()).await;
    let keyed = server.operator().with("idempotency-key", "k");
    let new = json!({"name": "ci", "role": "auditor"});
    let first = keyed.post("/api-keys", new.clone()).await.ok(201);
    assert_eq!(keyed.post("/api-keys", new).await.ok(201), first);
    let kept: Vec<u8> =
        sqlx::query_scalar("select answer from headgate.idempotency_keys").fetch_one(&pool).await.unwrap();
    assert!(!String::from_utf8_lossy(&kept).contains("hg_auditor"));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_refused_call_keeps_nothing(pool: PgPool) {
    let server = Server::start(pool).await;
    let keyed = server.operator().with("idempotency-key", "k");
    keyed.post("/apps", json!({"name": ""})).await.problem(422);
    keyed.post("/apps", json!({"name": "Shop"})).await.ok(201);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn of_calls_at_once_one_is_done(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let calls = (0..8).map(|_| {
        let keyed = client.clone().with("idempotency-key", "k");
        tokio::spawn(async move { keyed.post("/apps", json!({"name": "Shop"})).await.status })
    });
    for call in calls.collect::<Vec<_>>() {
        let status = call.await.unwrap();
        assert!(matches!(status, 201 | 409), "{status}");
    }
    assert_eq!(client.get("/apps").await.ok(200)["items"].as_array().unwrap().len(), 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn keys_that_are_none_are_refused(pool: PgPool) {
    let server = Server::start(pool).await;
    for key in ["", "a b", &"k".repeat(256)] {
        let keyed = server.operator().with("idempotency-key", key);
        assert_eq!(
            keyed.post("/apps", json!({"name": "Shop"})).await.pointers(422),
            ["Idempotency-Key"],
            "{key}"
        );
    }
}
