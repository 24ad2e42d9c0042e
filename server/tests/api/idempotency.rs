use crate::support::{Answer, Client, Lossy, Server, a_job, a_webhook, an_app, an_event, an_external};
use model::actor::Role;
use serde_json::{Value, json};
use sqlx::PgPool;
use std::time::Duration;
use tokio::{net::TcpListener, time::timeout};

/// Waits until a session waits for a lock.
async fn until_a_session_waits(pool: &PgPool) {
    let waits = "select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')";
    while !sqlx::query_scalar::<_, bool>(waits).fetch_one(pool).await.unwrap() {
        tokio::task::yield_now().await;
    }
}

async fn jobs(client: &Client) -> usize {
    client.get("/jobs").await.ok(200)["items"].as_array().unwrap().len()
}

/// Makes a call twice with one key, expects the same answer, and returns it.
async fn twice(client: &Client, path: &str, body: Option<Value>) -> Answer {
    let keyed = client.clone().with("idempotency-key", &uuid::Uuid::now_v7().to_string());
    let call = async || keyed.call(reqwest::Method::POST, path, body.clone()).await;
    let (first, second) = (call().await, call().await);
    assert!((200..300).contains(&first.status), "{path}: {}", first.text);
    assert_eq!((second.status, &second.text), (first.status, &first.text), "{path}");
    assert_eq!(first.header("etag"), second.header("etag"), "{path}");
    assert_eq!((first.header("idempotency-replayed"), second.header("idempotency-replayed")), ("", "true"));
    first
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_repeated_call_is_executed_once(pool: PgPool) {
    let (server, client, app) = Server::with_app(pool).await;
    let job = json!({"app_id": app, "job_type": "export"});
    let keyed = client.clone().with("idempotency-key", "import-7");
    let first = keyed.post("/jobs", job.clone()).await;
    let second = keyed.post("/jobs", job.clone()).await;
    assert_eq!((first.ok(201), first.header("idempotency-replayed")), (second.ok(201), ""));
    assert_eq!(second.header("idempotency-replayed"), "true");
    assert_eq!(client.get("/jobs").await.ok(200)["items"].as_array().unwrap().len(), 1);
    let other = json!({"app_id": app, "job_type": "import"});
    assert_eq!(keyed.post("/jobs", other).await.pointers(422), ["Idempotency-Key"]);
    // Keys belong to a path and a credential.
    keyed.post("/apps", json!({"name": "Two"})).await.ok(201);
    let producer = server.key(Role::Producer, Some(&app)).await.with("idempotency-key", "import-7");
    assert_eq!(producer.post("/jobs", job).await.header("idempotency-replayed"), "");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_secret_is_returned_to_a_repeat_and_stored_encrypted(pool: PgPool) {
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
async fn a_refused_call_is_not_stored(pool: PgPool) {
    let server = Server::start(pool).await;
    let keyed = server.operator().with("idempotency-key", "k");
    keyed.post("/apps", json!({"name": ""})).await.problem(422);
    keyed.post("/apps", json!({"name": "Shop"})).await.ok(201);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn of_simultaneous_calls_one_is_executed(pool: PgPool) {
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
async fn invalid_keys_are_refused(pool: PgPool) {
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

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_call_with_a_lost_commit_confirmation_is_not_executed_again(pool: PgPool) {
    let lossy = Lossy::before(&pool).await;
    let server = Server::start(lossy.pool.clone()).await;
    let client = server.operator();
    let app = an_app(&client, "Shop").await;
    let keyed = client.clone().with("idempotency-key", "k");
    let job = json!({"app_id": app, "job_type": "export"});
    lossy.set_lossy(true);
    let lost = keyed.post("/jobs", job.clone()).await;
    lost.problem(503);
    assert!(!lost.header("retry-after").is_empty());
    lossy.set_lossy(false);
    let again = keyed.post("/jobs", job).await;
    again.ok(201);
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(jobs(&client).await, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_repeat_of_a_call_in_progress_is_409(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool.clone()).await;
    let keyed = client.clone().with("idempotency-key", "k");
    let job = json!({"app_id": app, "job_type": "export"});
    let mut blocker = pool.begin().await.unwrap();
    sqlx::query("select from headgate.integrations for update").execute(&mut *blocker).await.unwrap();
    let (first, body) = (keyed.clone(), job.clone());
    let first = tokio::spawn(async move { first.post("/jobs", body).await });
    until_a_session_waits(&pool).await;
    let repeated = keyed.post("/jobs", job.clone()).await;
    repeated.problem(409);
    assert_eq!(repeated.header("retry-after"), "1");
    // As if its process died: its session ends, and with it the lock on the key.
    let end = "select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'";
    sqlx::query(end).execute(&pool).await.unwrap();
    first.await.unwrap().problem(503);
    blocker.rollback().await.unwrap();
    let again = keyed.post("/jobs", job).await;
    again.ok(201);
    assert_eq!(again.header("idempotency-replayed"), "");
    assert_eq!(jobs(&client).await, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_call_is_one_transaction_with_its_answer(pool: PgPool) {
    let server = Server::start(pool.clone()).await;
    let client = server.operator();
    let id = |answer: Answer, path: &str| answer.json().pointer(path).unwrap().as_str().unwrap().to_owned();
    let app = id(twice(&client, "/apps", Some(json!({"name": "Shop"}))).await, "/id");
    let new = json!({"app_id": app, "name": "Web", "integration_type": "webhook", "endpoint_url": "http://127.0.0.1:9/"});
    let webhook = id(twice(&client, "/integrations", Some(new)).await, "/id");
    let external = an_external(&client, &app).await;
    for (path, body) in [
        ("pause", Some(json!({"reason": "moving"}))),
        ("resume", None),
        ("breaker", Some(json!({"action": "close"}))),
        ("rotate-secret", None),
    ] {
        twice(&client, &format!("/integrations/{webhook}/{path}"), body).await;
    }
    let bulk = json!({"action": "pause", "filter": {"app_id": app}});
    assert_eq!(twice(&client, "/integrations/bulk", Some(bulk)).await.json()["changed"], 3);

    let one = an_event(&app, "1");
    assert_eq!(twice(&client, "/events", Some(one)).await.json()["jobs_created"], 1);
    let many: Vec<Value> = (2..30).map(|n| an_event(&app, &n.to_string())).collect();
    assert_eq!(twice(&client, "/events", Some(json!(many))).await.json()["jobs_created"], 28);
    let resync = id(twice(&client, &format!("/integrations/{webhook}/resync"), None).await, "/resync_id");
    for step in ["pause", "resume", "cancel"] {
        twice(&client, &format!("/resyncs/{resync}/{step}"), None).await;
    }

    let job = json!({"integration_id": external, "job_type": "export"});
    let made = id(twice(&client, "/jobs", Some(job.clone())).await, "/items/0/id");
    twice(&client, "/jobs", Some(json!([job, job]))).await;
    for step in ["cancel", "requeue"] {
        twice(&client, &format!("/jobs/{made}/{step}"), None).await;
    }
    let few = json!({"action": "cancel", "ids": [made]});
    let cancelled = twice(&client, "/jobs/bulk", Some(few)).await;
    assert_eq!(cancelled.json()["changed"], 1, "{}", cancelled.text);
    twice(&client, &format!("/operations/{}/undo", id(cancelled, "/operation_id")), None).await;
    twice(&client, "/jobs/bulk", Some(json!({"action": "cancel", "ids": [made], "dry_run": true}))).await;

    let view = json!({"name": "All of it", "query": "status=pending", "is_shared": true});
    twice(&client, "/saved-views", Some(view)).await;
    twice(&client, "/api-keys", Some(json!({"name": "ci", "role": "auditor"}))).await;
    let user =
        json!({"email": "a@example.test", "role": "auditor", "password": "correct horse battery staple"});
    twice(&client, "/users", Some(user)).await;
    let log = client.get("/audit-log?action=integration.pause").await.ok(200);
    let line = log["items"][0]["id"].as_str().unwrap().to_owned();
    twice(&client, &format!("/audit-log/{line}/undo"), None).await;
    let kept = "select count(*) from headgate.idempotency_keys where status is null";
    assert_eq!(sqlx::query_scalar::<_, i64>(kept).fetch_one(&pool).await.unwrap(), 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_of_a_keyed_call_begins_after_its_commit(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    let integration = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    a_job(&client.with("idempotency-key", "k"), &integration).await;
    server.recorded(1).await;
}

/// Waits until this many sessions wait for locks.
async fn until_sessions_wait(pool: &PgPool, sessions: usize) {
    let waits = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    while sqlx::query_scalar::<_, i64>(waits).fetch_one(pool).await.unwrap() < sessions as i64 {
        tokio::task::yield_now().await;
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn calls_of_one_app_leave_executors_to_others(pool: PgPool) {
    let server = Server::start(pool.clone()).await;
    let (one, other) = (an_app(&server.operator(), "One").await, an_app(&server.operator(), "Other").await);
    let integration = an_external(&server.operator(), &one).await;
    let mut blocker = pool.begin().await.unwrap();
    let lock_sql = "select from headgate.integrations where id = $1::uuid for update";
    sqlx::query(lock_sql).bind(&integration).execute(&mut *blocker).await.unwrap();
    // Two API keys of an app share its limit.
    let keys = [server.key(Role::Producer, Some(&one)).await, server.key(Role::Producer, Some(&one)).await];
    let calls: Vec<_> = (0..20)
        .map(|n: usize| {
            let keyed = keys[n % 2].clone().with("idempotency-key", &format!("k{n}"));
            let job = json!({"integration_id": integration, "job_type": "export"});
            tokio::spawn(async move { keyed.post("/jobs", job).await })
        })
        .collect();
    until_sessions_wait(&pool, pool.options().get_max_connections() as usize * 2 / 3).await;
    let keyed = server.key(Role::Producer, Some(&other)).await.with("idempotency-key", "k");
    keyed.post("/events", an_event(&other, "1")).await.ok(202);
    blocker.rollback().await.unwrap();
    for call in calls {
        call.await.unwrap().ok(201);
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn slow_tests_use_no_executor_and_are_not_replayed(pool: PgPool) {
    let server = Server::start(pool).await;
    let keyed = server.operator().with("idempotency-key", "k");
    let app = an_app(&server.operator(), "Shop").await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let path = format!("/integrations/{}/test", a_webhook(&server.operator(), &app, &url).await);
    let tests: Vec<_> = (0..20)
        .map(|_| {
            let (keyed, path) = (keyed.clone(), path.clone());
            tokio::spawn(async move { keyed.act(&path).await })
        })
        .collect();
    let mut in_progress = Vec::new();
    for _ in &tests {
        let sample = timeout(Duration::from_secs(60), silent.accept());
        in_progress.push(sample.await.expect("each sends a sample").unwrap());
    }
    keyed.post("/jobs", json!({"app_id": app, "job_type": "export"})).await.ok(201);
    drop((in_progress, silent));
    for test in tests {
        assert_eq!(test.await.unwrap().ok(200)["is_success"], false);
    }
}
