//! An answer that does not end does not keep its attempt from ending.

use std::time::Duration;

use model::job::JobStatus;
use serde_json::json;
use sqlx::PgPool;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::support::World;

/// Answers the first request with 200 and chunk after chunk until the client hangs up; returns how many bytes it wrote.
async fn endless_answer(chunk: &'static str, pause: Duration) -> (String, JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let written = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 16 * 1024]).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await.unwrap();
        let chunk = format!("{:x}\r\n{chunk}\r\n", chunk.len());
        let mut written = 0;
        let mut drips = tokio::time::interval(pause);
        while stream.write_all(chunk.as_bytes()).await.is_ok() {
            written += chunk.len();
            drips.tick().await;
        }
        written
    });
    (url, written)
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_dripping_answer_ends_with_the_time_of_the_attempt_and_counts_by_its_status(pool: PgPool) {
    let world = World::new(pool).await;
    let (url, written) = endless_answer("drip ", Duration::from_millis(10)).await;
    let shop = world.integration(json!({"endpoint_url": url, "timeout_ms": 400})).await;
    world.set(json!({"a": 1})).await;
    world.run_until(1).await;
    assert_eq!(world.jobs(shop).await[0].status, JobStatus::Completed);
    let written = tokio::time::timeout(Duration::from_secs(15), written).await.expect("it hung up").unwrap();
    let (duration_ms, excerpt): (i32, String) =
        sqlx::query_as("select duration_ms, response_excerpt from headgate.finished_jobs")
            .fetch_one(&world.pool)
            .await
            .unwrap();
    assert!((200..3_000).contains(&duration_ms), "{duration_ms} ms");
    assert!(excerpt.starts_with("drip drip") && excerpt.len() <= written, "{excerpt}");
    assert_eq!(world.sent(shop).await.len(), 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_flood_is_read_no_further_than_is_kept(pool: PgPool) {
    static FLOOD: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| "flood ".repeat(2_000));
    let world = World::new(pool).await;
    let (url, written) = endless_answer(&FLOOD, Duration::from_micros(1)).await;
    let shop = world.integration(json!({"endpoint_url": url, "timeout_ms": 600_000})).await;
    world.set(json!({"a": 1})).await;
    // Ends long before the time-out of the attempt.
    world.run_until(1).await;
    assert_eq!(world.jobs(shop).await[0].status, JobStatus::Completed);
    let written = tokio::time::timeout(Duration::from_secs(15), written).await.expect("it hung up").unwrap();
    // More may be in the buffers of both ends when the connection is dropped.
    assert!(written < 32 << 20, "{written} bytes");
}
