//! Large bodies: limits of memory, compression and anonymous clients.

use crate::support::{ADMIN_KEY, Answer, Client, Server, an_app, an_event};
use async_compression::Level;
use async_compression::tokio::write::{GzipEncoder, ZstdEncoder};
use async_compression::zstd::CParameter;
use futures::future::join_all;
use model::actor::Role;
use reqwest::Method;
use server::middleware::RequestMemory;
use sqlx::PgPool;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

const JSON: Option<&str> = Some("application/json");
const TIMEOUT: Duration = Duration::from_secs(60);

async fn events(client: &Client, encoding: &str, body: Vec<u8>) -> Answer {
    client.clone().with("content-encoding", encoding).send("/events", JSON, body).await
}

/// As [`an_event`], with an attribute of this many characters.
fn a_long_event(app: &str, id: &str, chars: usize) -> String {
    an_event(app, id).to_string().replace("Lamp", &"x".repeat(chars))
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_upload_without_a_key_gets_an_answer(pool: PgPool) {
    let server = Server::start(pool).await;
    let upload = async || {
        let body = vec![b' '; 8_000_000];
        let header = format!(
            "POST /api/v1/events HTTP/1.1\r\nhost: here\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(header.as_bytes()).await.unwrap();
        // Most clients read nothing before they have written everything.
        stream.write_all(&body).await.expect("the whole body is taken");
        let mut answered = [0; 12];
        stream.read_exact(&mut answered).await.unwrap();
        String::from_utf8(answered.to_vec()).unwrap()
    };
    let answers = timeout(TIMEOUT, join_all((0..20).map(|_| upload()))).await.expect("all are answered");
    assert_eq!(answers, vec!["HTTP/1.1 401"; 20]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn many_tiny_values_are_refused_before_they_take_memory(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let tiny = format!("[{}]", vec![r#"{"a":1}"#; 1_800_000].join(","));
    for path in ["/events", "/jobs", "/apps"] {
        let refused = client.send(path, JSON, tiny.clone()).await;
        assert_eq!(refused.pointers(422), [""], "{path}");
        assert!(refused.text.contains("has more than 250,000 values"), "{}", refused.text);
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_payload_beyond_its_limit_is_refused_with_its_pointer(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let event = |chars| format!("[{},{}]", an_event(&app, "1"), a_long_event(&app, "2", chars));
    assert_eq!(client.send("/events", JSON, event(1_000_000)).await.pointers(413), ["/1/attributes"]);
    client.send("/events", JSON, event(900_000)).await.ok(202);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn large_requests_beyond_the_memory_budget_are_503(pool: PgPool) {
    let server = Server::with_memory(pool, RequestMemory::of(1_000_000)).await;
    let client = server.operator();
    let app = an_app(&client, "Shop").await;
    let long_body = a_long_event(&app, "1", 1_100_000).into_bytes();
    let tiny = format!("[{}]", vec!["{\"a\":1}"; 10_000].join(","));
    // Without the length of the decompressed body.
    let compressed = gzipped(&long_body).await;
    for refused in [
        client.send("/events", JSON, long_body.clone()).await,
        // Read by the idempotency layer, and again inside its transaction.
        client.clone().with("idempotency-key", "k").send("/events", JSON, long_body).await,
        events(&client, "gzip", compressed).await,
        client.send("/events", JSON, tiny.clone()).await,
        client.clone().with("idempotency-key", "k").send("/events", JSON, tiny).await,
    ] {
        let problem = refused.problem(503);
        assert_eq!(problem["type"], "urn:headgate:problem:too-much-at-once");
        assert_eq!(refused.header("retry-after"), "1");
    }
    // The memory was freed, and smaller requests still fit.
    for n in 0..3 {
        client.send("/events", JSON, a_long_event(&app, &n.to_string(), 400_000)).await.ok(202);
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn compressed_bodies_are_read_and_other_encodings_refused(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let event = |id: &str| an_event(&app, id).to_string().into_bytes();
    assert_eq!(events(&client, "gzip", gzipped(&event("1")).await).await.ok(202)["records_changed"], 1);
    assert_eq!(
        events(&client, "zstd", zstd_compressed(&event("2"), 20).await).await.ok(202)["records_changed"],
        1
    );
    assert_eq!(events(&client, "identity", event("3")).await.ok(202)["records_changed"], 1);
    for encoding in ["br", "deflate", "gzip, zstd", "nonsense"] {
        let refused = events(&client, encoding, event("4")).await;
        assert_eq!(refused.problem(415)["type"], "urn:headgate:problem:unsupported-encoding", "{encoding}");
        assert_eq!(refused.header("accept-encoding"), "gzip, zstd");
    }
    // The body must match the header.
    events(&client, "zstd", gzipped(&event("5")).await).await.problem(400);
    // The limit applies to the decompressed size.
    let bomb = gzipped(&vec![b' '; 17_000_000]).await;
    assert!(bomb.len() < 20_000);
    events(&client, "gzip", bomb).await.problem(413);
    events(&client, "zstd", zstd_compressed(&event("6"), 27).await).await.problem(400);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn bodies_of_anonymous_clients_are_small(pool: PgPool) {
    let server = Server::start(pool).await;
    let form = format!("email=ada%40example.test&password={}", "x".repeat(100_000));
    for path in ["/sign-in", "/console/bulk"] {
        server.anonymous().form(path, form.clone()).await.problem(413);
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_endless_empty_compressed_body_is_refused(pool: PgPool) {
    let server = Server::start(pool).await;
    let key = format!("authorization: Bearer {ADMIN_KEY}\r\ncontent-type: application/json\r\n");
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let empty = gzipped(b"").await;
    // The header, and empty blocks that are never the last one.
    let (header, blocks) = (&empty[..10], [0, 0, 0, 0xff, 0xff].repeat(10_000));
    for (path, headers, status) in
        [("/sign-in", form, "413"), ("/console/theme", form, "413"), ("/api/v1/events", &key, "413")]
    {
        assert_eq!(endless(&server, path, headers, header, &blocks).await, status, "{path}");
    }
    // Endless empty members are not a body either.
    let members = empty.repeat(1_000);
    for (path, headers) in [("/sign-in", form), ("/api/v1/events", &key)] {
        assert_eq!(endless(&server, path, headers, &members, &members).await, "400", "{path}");
    }
}

/// The status of the answer to an endless compressed body.
async fn endless(server: &Server, path: &str, headers: &str, first: &[u8], rest: &[u8]) -> String {
    let header = format!(
        "POST {path} HTTP/1.1\r\nhost: here\r\n{headers}content-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    let chunk = |bytes: &[u8]| [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
    let (mut reads, mut writes) = TcpStream::connect(server.address).await.unwrap().into_split();
    writes.write_all(&[header.as_bytes(), &chunk(first)].concat()).await.unwrap();
    let rest = chunk(rest);
    let flood = async { while writes.write_all(&rest).await.is_ok() {} };
    let mut answered = [0; 12];
    let answer = async {
        tokio::select! {
            read = reads.read_exact(&mut answered) => read.map(drop),
            () = flood => Ok(()),
        }
    };
    timeout(TIMEOUT, answer).await.expect("it is answered").expect("an answer");
    String::from_utf8(answered[9..].to_vec()).unwrap()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_form_reserves_the_memory_it_takes(pool: PgPool) {
    let server = Server::with_memory(pool, RequestMemory::of(1_000_000)).await;
    let ada = server.person("ada", Role::Support).await;
    let send = async |fields: usize| {
        let form: String = (0..fields).map(|n| format!("columns[{n}][a]=1&")).collect();
        let request = ada.request(Method::POST, "/console/job-columns").body(format!("{form}back=%2Fjobs"));
        Answer::of(request.header("content-type", "application/x-www-form-urlencoded")).await
    };
    assert_eq!(send(3_000).await.problem(503)["type"], "urn:headgate:problem:too-much-at-once");
    send(250_000).await.problem(413);
    assert!(send(0).await.status < 400);
}

async fn gzipped(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzipEncoder::new(Vec::new());
    encoder.write_all(text).await.unwrap();
    encoder.shutdown().await.unwrap();
    encoder.into_inner()
}

/// With a window of this many bits.
async fn zstd_compressed(text: &[u8], window: u32) -> Vec<u8> {
    let window = [CParameter::window_log(window)];
    let mut encoder = ZstdEncoder::with_quality_and_params(Vec::new(), Level::Default, &window);
    encoder.write_all(text).await.unwrap();
    encoder.shutdown().await.unwrap();
    encoder.into_inner()
}
