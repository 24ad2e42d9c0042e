//! What each answer means for the job.

use std::time::Duration;

use model::{actor::Scope, id::IntegrationId, integration::IntegrationState};
use serde_json::json;
use sqlx::PgPool;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{Receiver, Reply, World};

/// Sends product 1 once and returns status and error.
async fn try_once(world: &World, integration: IntegrationId, n: i64) -> (String, String) {
    world.set(json!({"n": n})).await;
    world.run_until(1).await;
    let (status, _, error) = world.newest(integration).await;
    (status, error.unwrap_or_default())
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn answers_complete_retry_or_give_up(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    for (n, (status, becomes)) in (0..).zip([
        (200, "completed"),
        (204, "completed"),
        (408, "to_be_retried"),
        (425, "to_be_retried"),
        (500, "to_be_retried"),
        (503, "to_be_retried"),
        (301, "failed"),
        (302, "failed"),
        (400, "failed"),
        (401, "failed"),
        (404, "failed"),
        (422, "failed"),
    ]) {
        let shop = world
            .integration(json!({"endpoint_url": receiver.url, "record_types": [format!("kind {n}")], "max_attempts": 5}))
            .await;
        let location =
            vec![("location", format!("{}/elsewhere", receiver.url)), ("retry-after", "60".to_owned())];
        receiver.replies([Reply::With(status, location, "because".into())]);
        world.accept([json!({"record_type": format!("kind {n}"), "attributes": {"a": 1}})]).await;
        world.run_until(1).await;
        let (is, _, error) = world.newest(shop).await;
        assert_eq!(is.replace("retrying", "to_be_retried"), becomes, "{status}");
        let sent = receiver.rest().await;
        assert!(sent.len() == 1 && sent[0].path == "/", "{status}: {sent:?}");
        if becomes != "completed" {
            let error = error.unwrap();
            assert!(
                error.starts_with(&format!("answered {status}")) && error.ends_with(": because"),
                "{error}"
            );
            assert!(world.sent(shop).await.is_empty());
        }
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_retry_sends_the_current_state_under_the_same_id(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    receiver.replies([Reply::With(500, vec![("retry-after", "1".into())], String::new())]);
    world.set(json!({"a": 1})).await;
    let running = world.run();
    let first = receiver.next().await;
    running.until(1).await;
    world.set(json!({"b": 2})).await;
    let second = receiver.next().await;
    running.until(2).await;
    running.stop().await;
    assert_eq!(first.header("webhook-id"), second.header("webhook-id"));
    assert_ne!(first.header("traceparent"), second.header("traceparent"));
    assert_eq!(second.json()["changes"]["set"], json!({"a": 1, "b": 2}));
    assert_eq!(world.newest(shop).await.0, "completed");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_410_pauses_the_integration_with_the_reason(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    receiver.replies([Reply::Status(410)]);
    assert_eq!(try_once(&world, shop, 1).await.0, "failed");
    let integration = world.delivery.integration(world.scope, shop).await.unwrap();
    assert_eq!(integration.state, IntegrationState::Paused);
    assert!(integration.state_reason.unwrap().contains("410"));
    let reason: String = sqlx::query_scalar("select reason from headgate.system_events where kind = 'pause'")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    assert!(reason.contains("410 Gone"), "{reason}");
    // Jobs are still accepted, and are sent once it is resumed.
    receiver.rest().await;
    world.set(json!({"n": 2})).await;
    assert_eq!(world.newest(shop).await.0, "pending");
    let mut conn = world.pool.acquire().await.unwrap();
    let resumed = world.delivery.resume_integration(&mut conn, world.scope, shop).await.unwrap();
    assert_eq!((resumed.state, resumed.state_reason), (IntegrationState::Active, None));
    drop(conn);
    world.run_until(1).await;
    assert_eq!(receiver.next().await.json()["changes"]["set"], json!({"n": 2}));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_429_makes_the_whole_integration_quiet(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    world.integration(json!({"endpoint_url": receiver.url})).await;
    receiver.answers(Reply::With(429, vec![("retry-after", "1000".into())], String::new()));
    world.set(json!({"n": 1})).await;
    let running = world.run();
    running.until(1).await;
    world.accept([json!({"record_id": "2", "attributes": {"a": 1}})]).await;
    let quiet: bool = sqlx::query_scalar("select quiet_until > clock_timestamp() + interval '990 seconds' from headgate.lanes where not is_external")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    assert!(quiet);
    running.stop().await;
    assert_eq!(receiver.rest().await.len(), 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_answer_that_repeats_the_credentials_is_kept_without_them(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world
        .integration(
            json!({"endpoint_url": receiver.url, "credentials": {"authorization": "Bearer s3cr3tvalue"}}),
        )
        .await;
    receiver.answers(Reply::With(400, vec![], "you sent Bearer s3cr3tvalue, token=s3cr3tvalue".to_owned()));
    world.accept([json!({"attributes": {"a": 1}})]).await;
    world.run_until(1).await;
    let detail =
        queue::store::jobs::get(&world.pool, world.scope, world.jobs(shop).await[0].id).await.unwrap();
    let excerpt = detail.attempts[0].response_excerpt.as_deref();
    assert_eq!(excerpt, Some("you sent [masked], token=[masked]"));
    assert!(!format!("{detail:?}").contains("s3cr3t"), "{detail:?}");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn no_answer_is_a_failure_in_words(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let silent = world
        .integration(json!({"endpoint_url": receiver.url, "timeout_ms": 200, "record_types": ["silent"]}))
        .await;
    receiver.answers(Reply::Hang);
    world.accept([json!({"record_type": "silent", "attributes": {"a": 1}})]).await;
    world.run_until(1).await;
    let job = world.jobs(silent).await.remove(0);
    assert_eq!(job.error_kind.map(|kind| kind.as_str()), Some("timeout"));
    assert_eq!(job.error_message.as_deref(), Some("no answer within 200 ms"));

    // Nothing listens there.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let closed = world
        .integration(json!({"endpoint_url": format!("http://127.0.0.1:{port}"), "record_types": ["closed"]}))
        .await;
    world.accept([json!({"record_type": "closed", "attributes": {"a": 1}})]).await;
    world.run_until(1).await;
    assert_eq!(world.newest(closed).await.2.as_deref(), Some("connection refused"));

    // Plain text where TLS was expected.
    let url = receiver.url.replace("http:", "https:");
    let tls = world.integration(json!({"endpoint_url": url, "record_types": ["tls"]})).await;
    world.accept([json!({"record_type": "tls", "attributes": {"a": 1}})]).await;
    world.run_until(1).await;
    let error = world.newest(tls).await.2.unwrap();
    assert!(error.starts_with("TLS: "), "{error}");

    let unknown = world
        .integration(json!({"endpoint_url": "https://shop.invalid/", "record_types": ["unknown"]}))
        .await;
    world.accept([json!({"record_type": "unknown", "attributes": {"a": 1}})]).await;
    world.run_until(1).await;
    assert_eq!(world.newest(unknown).await.2.as_deref(), Some("the name could not be resolved"));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_endless_answer_is_cut_off(pool: PgPool) {
    let world = World::new(pool).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        let _ = socket.read(&mut request).await;
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n").await.unwrap();
        let mut written = 0;
        // Ends when the client hangs up.
        while socket.write_all(&[b'x'; 1024]).await.is_ok() {
            written += 1024;
        }
        written
    });
    let shop = world.integration(json!({"endpoint_url": url})).await;
    assert_eq!(try_once(&world, shop, 1).await.0, "completed");
    let written = tokio::time::timeout(Duration::from_secs(10), server).await.unwrap().unwrap();
    assert!(written < 50_000_000);
    let job = world.jobs(shop).await.remove(0);
    let detail = queue::store::jobs::get(&world.pool, Scope::AllApps, job.id).await.unwrap();
    let excerpt = detail.attempts[0].response_excerpt.clone().unwrap();
    assert_eq!(excerpt.chars().count(), 2_001);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_for_an_address_that_became_forbidden_fails_without_a_request(pool: PgPool) {
    let receiver = Receiver::start().await;
    let open = World::new(pool).await;
    let shop = open.integration(json!({"endpoint_url": receiver.url})).await;
    open.set(json!({"a": 1})).await;
    open.restarted(&[]).run_until(1).await;
    let (status, _, error) = open.newest(shop).await;
    assert_eq!(status, "failed");
    assert!(error.unwrap().starts_with("the address is not allowed"));
    assert!(receiver.rest().await.is_empty());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_database_that_does_not_answer_in_time_costs_no_attempt(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world.integration(json!({"endpoint_url": receiver.url, "timeout_ms": 500})).await;
    world.set(json!({"a": 1})).await;
    // What was last sent cannot be read.
    let mut locking = world.pool.begin().await.unwrap();
    sqlx::query("lock table headgate.sent_records in access exclusive mode")
        .execute(&mut *locking)
        .await
        .unwrap();
    let running = world.run();
    running.until(1).await;
    assert!(receiver.rest().await.is_empty());
    locking.rollback().await.unwrap();
    receiver.next().await;
    running.stop().await;
    let job = world.jobs(shop).await.remove(0);
    assert_eq!((job.status.as_str(), job.attempt), ("completed", 1));
}
