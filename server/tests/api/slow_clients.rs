//! Slow and silent clients are disconnected, and there is room for others and for probes.

use crate::support::{ADMIN_KEY, Client, Server};
use futures::StreamExt as _;
use reqwest::Method;
use server::{connections::ConnectionLimits, middleware::Pace};
use sqlx::PgPool;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(50);
const TIMEOUT: Duration = Duration::from_secs(60);
const HALF_A_HEADER: &str = "GET / HTTP/1.1\r\nhost: here\r\n";

async fn a_server(pool: PgPool, change: impl FnOnce(&mut ConnectionLimits)) -> Server {
    let mut limits = ConnectionLimits::for_files(None);
    (limits.first_header, limits.next_header, limits.unread) = (LONG, LONG, LONG);
    change(&mut limits);
    Server::bounded(pool, limits, Pace { grace: LONG, ..Pace::default() }).await
}

async fn connected(server: &Server, begins_with: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(begins_with.as_bytes()).await.unwrap();
    stream
}

/// What the server sends until it closes the connection.
async fn rest(stream: &mut TcpStream) -> String {
    let mut rest = Vec::new();
    // A connection that is closed with unread data is reset.
    let _ = timeout(TIMEOUT, stream.read_to_end(&mut rest)).await.expect("the connection is closed");
    String::from_utf8(rest).unwrap()
}

async fn get(server: &Server, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n");
    rest(&mut connected(server, &request).await).await
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_connection_without_a_complete_header_is_closed(pool: PgPool) {
    let server = a_server(pool, |limits| limits.first_header = SHORT).await;
    for begun in ["", HALF_A_HEADER] {
        assert_eq!(rest(&mut connected(&server, begun).await).await, "", "{begun:?}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn headers_have_a_limit(pool: PgPool) {
    let server = a_server(pool, |_| {}).await;
    let header =
        |bytes: usize| format!("GET /healthz HTTP/1.1\r\nhost: here\r\nx: {}\r\n", "x".repeat(bytes));
    let whole = format!("{}connection: close\r\n\r\n", header(16_000));
    assert!(rest(&mut connected(&server, &whole).await).await.starts_with("HTTP/1.1 200 "));
    let refused = rest(&mut connected(&server, &header(64_000)).await).await;
    assert!(refused.is_empty() || refused.starts_with("HTTP/1.1 431 "), "{refused}");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_idle_kept_alive_connection_is_closed(pool: PgPool) {
    let server = a_server(pool, |limits| limits.next_header = SHORT).await;
    let whole = "GET /healthz HTTP/1.1\r\nhost: here\r\n\r\n";
    for then in ["", HALF_A_HEADER] {
        let mut stream = connected(&server, &format!("{whole}{then}")).await;
        let answered = rest(&mut stream).await;
        assert!(answered.starts_with("HTTP/1.1 200 ") && answered.ends_with("ok\n"), "{answered}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_slow_body_is_refused(pool: PgPool) {
    let pace = Pace { grace: SHORT, bytes_per_second: 1_000_000 };
    let server = Server::bounded(pool, ConnectionLimits::for_files(None), pace).await;
    let header = format!(
        "POST /api/v1/events HTTP/1.1\r\nhost: here\r\nauthorization: Bearer {ADMIN_KEY}\r\n\
         content-type: application/json\r\ncontent-length: 1000\r\n\r\n["
    );
    let mut stream = connected(&server, &header).await;
    let answered = rest(&mut stream).await;
    assert!(answered.starts_with("HTTP/1.1 408 "), "{answered}");
    assert!(answered.contains("urn:headgate:problem:too-slow"), "{answered}");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_client_that_does_not_read_is_disconnected(pool: PgPool) {
    let server = a_server(pool, |limits| limits.unread = SHORT).await;
    // Answers fill every buffer; then the server can neither write nor read.
    let mut stream = connected(&server, "").await;
    let asked = "GET /api/openapi.json HTTP/1.1\r\nhost: here\r\n\r\n".repeat(100);
    let flood = async { while stream.write_all(asked.as_bytes()).await.is_ok() {} };
    timeout(TIMEOUT, flood).await.expect("the connection is closed");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn probes_are_answered_beyond_the_connection_limit(pool: PgPool) {
    let server = a_server(pool, |limits| (limits.all, limits.reserve) = (4, 2)).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(connected(&server, HALF_A_HEADER).await);
    }
    assert!(get(&server, "/healthz").await.starts_with("HTTP/1.1 200 "));
    assert!(get(&server, "/readyz").await.starts_with("HTTP/1.1 200 "));
    let refused = get(&server, "/api/v1/apps").await;
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(refused.contains("too-many-connections") && refused.contains("retry-after: 1"), "{refused}");
    // The oldest of the reserve was replaced.
    assert_eq!(rest(&mut silent[4]).await, "");
    // Once the silent ones are gone, there is room again.
    drop(silent);
    let again = async { while !get(&server, "/api/v1/apps").await.starts_with("HTTP/1.1 401 ") {} };
    timeout(TIMEOUT, again).await.expect("their slots are free");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_event_stream_is_not_a_slow_client(pool: PgPool) {
    let limits =
        ConnectionLimits { first_header: SHORT, next_header: SHORT, ..ConnectionLimits::for_files(None) };
    let server = Server::bounded(pool, limits, Pace { grace: SHORT, ..Pace::default() }).await;
    let open = async |client: &Client| client.request(Method::GET, "/api/v1/live").send().await.unwrap();
    let mut events = open(&server.operator()).await.bytes_stream();
    let mut text = String::new();
    // One comes each second, so the second one is sent long after every limit.
    while text.matches("event: snapshot").count() < 2 {
        let chunk =
            timeout(TIMEOUT, events.next()).await.expect("another event").expect("the stream goes on");
        text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
    }
}
