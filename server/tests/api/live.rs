use crate::support::{Answer, Client, Server, a_webhook, an_app};
use futures::{Stream, StreamExt};
use model::actor::Role;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;
use std::time::Duration;

/// The first snapshot of a stream.
async fn first(client: &Client, query: &str) -> Value {
    let response = client.request(Method::GET, &format!("/api/v1/live{query}")).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    let mut stream = response.bytes_stream();
    let mut text = String::new();
    while !text.contains("\n\n") || !text.contains("data:") {
        let chunk =
            tokio::time::timeout(Duration::from_secs(20), stream.next()).await.expect("a snapshot in time");
        text.push_str(std::str::from_utf8(&chunk.unwrap().unwrap()).unwrap());
    }
    assert!(text.contains("event: snapshot") && text.contains("id: "), "{text}");
    let data = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    serde_json::from_str(data).unwrap()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_stream_begins_with_what_is_and_is_narrowed_to_the_scope(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let (own, foreign) = (an_app(&client, "Own").await, an_app(&client, "Foreign").await);
    let integration = a_webhook(&client, &own, "http://127.0.0.1:9/").await;
    let other = a_webhook(&client, &foreign, "http://127.0.0.1:9/").await;
    server.sees(|snapshot| snapshot.integrations.len() == 4).await;
    assert_eq!(first(&client, "").await["integrations"].as_array().unwrap().len(), 4);
    let one = first(&client, &format!("?integration_id={integration}")).await;
    assert_eq!(one["integrations"].as_array().unwrap().len(), 1);
    let portal = server.key(Role::Portal, Some(&own)).await;
    assert_eq!(first(&portal, "").await["integrations"].as_array().unwrap().len(), 2);
    portal.get(&format!("/live?integration_id={other}")).await.problem(404);
    server.anonymous().get("/live").await.problem(401);
}

/// The next event of a stream: its name and its data.
async fn next<B: AsRef<[u8]>>(
    stream: &mut (impl Stream<Item = reqwest::Result<B>> + Unpin),
    text: &mut String,
) -> (String, Value) {
    loop {
        if let Some((event, rest)) = text.split_once("\n\n") {
            let line = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            let found = line("event: ").zip(line("data: "));
            *text = rest.to_owned();
            if let Some((name, data)) = found {
                return (name, serde_json::from_str(&data).unwrap());
            }
            continue;
        }
        let chunk =
            tokio::time::timeout(Duration::from_secs(20), stream.next()).await.expect("an event in time");
        text.push_str(std::str::from_utf8(chunk.unwrap().unwrap().as_ref()).unwrap());
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn after_the_first_snapshot_only_what_changed_is_sent_to_who_asks_for_that(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let app = an_app(&client, "Own").await;
    let integration = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    server.sees(|snapshot| snapshot.integrations.len() == 2).await;
    let response = client.request(Method::GET, "/api/v1/live?changes=true").send().await.unwrap();
    let (mut stream, mut text) = (response.bytes_stream(), String::new());
    let (name, first) = next(&mut stream, &mut text).await;
    assert_eq!(name, "snapshot");
    let mut before = first["at"].clone();
    client.act(&format!("/integrations/{integration}/pause")).await.ok(200);
    loop {
        let (name, told) = next(&mut stream, &mut text).await;
        assert_eq!((name.as_str(), &told["since"]), ("changes", &before), "each builds on the one before");
        before = told["at"].clone();
        let changed = told["integrations"].as_array().unwrap();
        if changed.iter().any(|gauge| gauge["state"] == "paused") {
            assert_eq!(
                (changed.len(), &changed[0]["integration_id"]),
                (1, &Value::from(integration.clone()))
            );
            break;
        }
    }
}

/// A stream of a client, past its first snapshot.
async fn opened(client: Client) -> impl Stream<Item = reqwest::Result<impl AsRef<[u8]>>> + Unpin {
    let response = client.request(Method::GET, "/api/v1/live").send().await.unwrap();
    assert_eq!(response.status(), 200);
    let mut stream = Box::pin(response.bytes_stream());
    next(&mut stream, &mut String::new()).await;
    stream
}

/// Whether it ends soon: long before the next sign of life of a stream that stays.
async fn ends<B>(stream: impl Stream<Item = reqwest::Result<B>>) -> bool {
    tokio::time::timeout(Duration::from_secs(10), stream.for_each(async |_| {})).await.is_ok()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_stream_ends_with_what_it_was_opened_by(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let key = client.post("/api-keys", json!({"name": "Wall", "role": "auditor"})).await.ok(201);
    let by_key = opened(server.anonymous().with_key(key["key"].as_str().unwrap())).await;
    let (ada, eve) = (server.person("ada", Role::Support).await, server.person("eve", Role::Support).await);
    let (of_ada, of_eve) = (opened(ada.clone()).await, opened(eve).await);
    let mut stays = opened(server.person("ida", Role::Auditor).await).await;

    client.delete(&format!("/api-keys/{}", key["id"].as_str().unwrap())).await.ok(204);
    assert!(ends(by_key).await, "a revoked key");
    Answer::of(ada.request(Method::POST, "/sign-out")).await;
    assert!(ends(of_ada).await, "signed out");
    let users = client.get("/users").await.ok(200);
    let is_eve = |user: &&Value| user["email"] == "eve@example.test";
    let id = users["items"].as_array().unwrap().iter().find(is_eve).unwrap()["id"].as_str().unwrap();
    client.patch(&format!("/users/{id}"), json!({"role": "auditor"})).await.ok(200);
    assert!(ends(of_eve).await, "another role");
    next(&mut stays, &mut String::new()).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn shutdown_ends_the_stream(pool: PgPool) {
    let server = Server::start(pool).await;
    let response = server.operator().request(Method::GET, "/api/v1/live").send().await.unwrap();
    server.state.stop.cancel();
    let rest = tokio::time::timeout(Duration::from_secs(20), response.bytes()).await;
    rest.expect("the end of the stream in time").unwrap();
}
