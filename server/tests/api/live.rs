use crate::support::{Answer, Client, Server, Statements, a_webhook, an_app};
use chrono::{DateTime, TimeDelta, Utc};
use futures::{Stream, StreamExt, future::join_all};
use model::actor::Role;
use reqwest::Method;
use serde_json::{Value, json};
use server::{connections::ConnectionLimits, middleware::Pace};
use sqlx::PgPool;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

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
            tokio::time::timeout(Duration::from_secs(60), stream.next()).await.expect("a snapshot in time");
        text.push_str(std::str::from_utf8(&chunk.unwrap().unwrap()).unwrap());
    }
    assert!(text.contains("event: snapshot") && text.contains("id: "), "{text}");
    let data = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    serde_json::from_str(data).unwrap()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_stream_begins_with_a_snapshot_and_is_limited_to_the_scope(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let (own, foreign) = (an_app(&client, "Own").await, an_app(&client, "Foreign").await);
    let integration = a_webhook(&client, &own, "http://127.0.0.1:9/").await;
    let other = a_webhook(&client, &foreign, "http://127.0.0.1:9/").await;
    server.until_snapshot(|snapshot| snapshot.integrations.len() == 4).await;
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
            tokio::time::timeout(Duration::from_secs(60), stream.next()).await.expect("an event in time");
        text.push_str(std::str::from_utf8(chunk.unwrap().unwrap().as_ref()).unwrap());
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn after_the_first_snapshot_only_changes_are_sent_on_request(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let app = an_app(&client, "Own").await;
    let integration = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    server.until_snapshot(|snapshot| snapshot.integrations.len() == 2).await;
    let response = client.request(Method::GET, "/api/v1/live?changes=true").send().await.unwrap();
    let (mut stream, mut text) = (response.bytes_stream(), String::new());
    let (name, first) = next(&mut stream, &mut text).await;
    assert_eq!(name, "snapshot");
    let mut before = first["at"].clone();
    client.act(&format!("/integrations/{integration}/pause")).await.ok(200);
    loop {
        let (name, update) = next(&mut stream, &mut text).await;
        assert_eq!(
            (name.as_str(), &update["since"]),
            ("changes", &before),
            "each refers to the previous one"
        );
        before = update["at"].clone();
        let changed = update["integrations"].as_array().unwrap();
        if changed.iter().any(|gauge| gauge["state"] == "paused") {
            assert_eq!(
                (changed.len(), &changed[0]["integration_id"]),
                (1, &Value::from(integration.clone()))
            );
            break;
        }
    }
}

/// `at` of the next event of a stream of snapshots or changes.
async fn next_at<B: AsRef<[u8]>>(
    stream: &mut (impl Stream<Item = reqwest::Result<B>> + Unpin),
    text: &mut String,
) -> DateTime<Utc> {
    let (_, update) = next(stream, text).await;
    update["at"].as_str().unwrap().parse().unwrap()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn changes_come_sooner_and_snapshots_once_a_second(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let app = an_app(&client, "Own").await;
    let stream = async |query: &str| {
        let response = client.request(Method::GET, &format!("/api/v1/live{query}")).send().await.unwrap();
        (response.bytes_stream(), String::new())
    };
    let (mut changes, mut of_changes) = stream("?changes=true").await;
    let (mut snapshots, mut of_snapshots) = stream("").await;
    let apart = TimeDelta::milliseconds(900);
    let mut before = next_at(&mut changes, &mut of_changes).await;
    loop {
        // Until a sample follows soon after one that saw a change.
        a_job_of(&client, &app, json!({})).await;
        let at = next_at(&mut changes, &mut of_changes).await;
        if at - before < apart {
            break;
        }
        before = at;
    }
    let mut before = next_at(&mut snapshots, &mut of_snapshots).await;
    for _ in 0..3 {
        let at = next_at(&mut snapshots, &mut of_snapshots).await;
        assert!(at - before >= apart, "only {} after the previous one", at - before);
        before = at;
    }
}

/// A client's stream, after its first snapshot.
async fn opened(client: Client) -> impl Stream<Item = reqwest::Result<impl AsRef<[u8]>>> + Unpin {
    let response = client.request(Method::GET, "/api/v1/live").send().await.unwrap();
    assert_eq!(response.status(), 200);
    let mut stream = Box::pin(response.bytes_stream());
    next(&mut stream, &mut String::new()).await;
    stream
}

/// Whether it ends soon, before the next keep-alive of a stream that remains.
async fn ends<B>(stream: impl Stream<Item = reqwest::Result<B>>) -> bool {
    tokio::time::timeout(Duration::from_secs(10), stream.for_each(async |_| {})).await.is_ok()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_stream_ends_with_its_credential(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let key = client.post("/api-keys", json!({"name": "Wall", "role": "auditor"})).await.ok(201);
    let of_key = opened(server.anonymous().with_key(key["key"].as_str().unwrap())).await;
    let (ada, eve) = (server.person("ada", Role::Support).await, server.person("eve", Role::Support).await);
    let (of_ada, of_eve) = (opened(ada.clone()).await, opened(eve).await);
    let mut remaining = opened(server.person("ida", Role::Auditor).await).await;

    client.delete(&format!("/api-keys/{}", key["id"].as_str().unwrap())).await.ok(204);
    assert!(ends(of_key).await, "a revoked key");
    Answer::of(ada.request(Method::POST, "/sign-out")).await;
    assert!(ends(of_ada).await, "signed out");
    let users = client.get("/users").await.ok(200);
    let is_eve = |user: &&Value| user["email"] == "eve@example.test";
    let id = users["items"].as_array().unwrap().iter().find(is_eve).unwrap()["id"].as_str().unwrap();
    client.patch(&format!("/users/{id}"), json!({"role": "auditor"})).await.ok(200);
    assert!(ends(of_eve).await, "another role");
    next(&mut remaining, &mut String::new()).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn shutdown_ends_the_stream(pool: PgPool) {
    let server = Server::start(pool).await;
    let response = server.operator().request(Method::GET, "/api/v1/live").send().await.unwrap();
    server.state.stop.cancel();
    let rest = tokio::time::timeout(Duration::from_secs(60), response.bytes()).await;
    rest.expect("the end of the stream in time").unwrap();
}

/// A stream of one object.
struct OpenedStream<S> {
    kind: &'static str,
    stream: S,
    text: String,
}

async fn open_stream(
    client: &Client,
    kind: &'static str,
    id: &str,
) -> OpenedStream<impl Stream<Item = reqwest::Result<impl AsRef<[u8]>>> + Unpin> {
    let path = format!("/api/v1/live?open={kind}:{id}");
    let response = client.request(Method::GET, &path).send().await.unwrap();
    assert_eq!(response.status(), 200);
    OpenedStream { kind, stream: Box::pin(response.bytes_stream()), text: String::new() }
}

impl<B: AsRef<[u8]>, S: Stream<Item = reqwest::Result<B>> + Unpin> OpenedStream<S> {
    /// The object in the next event.
    async fn update(&mut self) -> Value {
        let (name, data) = next(&mut self.stream, &mut self.text).await;
        assert_eq!(name, self.kind, "no snapshot");
        data["now"].clone()
    }

    /// The next event whose object matches.
    async fn next_matching(&mut self, matches_state: impl Fn(&Value) -> bool) -> Value {
        loop {
            let update = self.update().await;
            if matches_state(&update) {
                return update;
            }
        }
    }
}

/// A job that no worker runs.
async fn a_job_of(client: &Client, app: &str, payload: Value) -> String {
    let new = json!({"app_id": app, "job_type": "export", "payload": payload});
    let made = client.post("/jobs", new).await.ok(201);
    made["items"][0]["id"].as_str().unwrap().to_owned()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_open_object_is_sent_at_first_and_after_each_change(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let integration = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    let job = a_job_of(&client, &app, json!({"apiKey": "k-1", "n": 1})).await;

    let mut of_job = open_stream(&client, "job", &job).await;
    let update = of_job.update().await;
    assert_eq!((&update["detail"]["id"], &update["detail"]["status"]), (&json!(job), &json!("pending")));
    assert_eq!(update["explanation"], client.get(&format!("/jobs/{job}/explain")).await.ok(200));
    assert_eq!(
        update["detail"]["payload"],
        json!({"apiKey": "[masked]", "n": 1}),
        "secrets are shown on request only"
    );
    client.act(&format!("/jobs/{job}/cancel")).await.ok(200);
    let update = of_job.next_matching(|now| now["detail"]["status"] == "cancelled").await;
    assert_eq!(update["explanation"]["state"], "cancelled");
    client.act(&format!("/jobs/{job}/requeue")).await.ok(200);
    of_job.next_matching(|now| now["detail"]["status"] == "pending").await;

    let mut of_integration = open_stream(&client, "integration", &integration).await;
    assert_eq!(of_integration.update().await["state"], "active");
    client.act(&format!("/integrations/{integration}/pause")).await.ok(200);
    of_integration.next_matching(|now| now["state"] == "paused").await;

    let jobs: Vec<Value> =
        (0..101).map(|n| json!({"app_id": app, "job_type": "export", "payload": n})).collect();
    client.post("/jobs", json!(jobs)).await.ok(201);
    let body =
        json!({"action": "cancel", "filter": {"app_id": app}, "hold_seconds": 3600, "reason": "by mistake"});
    let started = client.post("/jobs/bulk", body).await.ok(202);
    let operation = started["operation_id"].as_str().unwrap();
    let mut of_operation = open_stream(&client, "operation", operation).await;
    assert_eq!(of_operation.update().await["state"], "held");
    client.act(&format!("/operations/{operation}/pause")).await.ok(200);
    of_operation.next_matching(|now| now["state"] == "paused").await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_open_operation_has_payload_values_of_its_filter_masked(pool: PgPool) {
    let (server, client, app) = Server::with_app(pool).await;
    a_job_of(&client, &app, json!({"apiKey": "hunter2", "n": 1})).await;
    let integration = client.get("/jobs").await.ok(200)["items"][0]["integration_id"].clone();
    let filter = json!({"integration_id": integration, "payload": {"apiKey": "hunter2", "n": "1"}});
    let done = client.post("/jobs/bulk", json!({"action": "cancel", "filter": filter})).await.ok(200);
    let operation = done["operation_id"].as_str().unwrap();
    let support = server.key(Role::Support, None).await;
    for (viewer, value) in [(&client, "hunter2"), (&support, "[masked]")] {
        let mut of_operation = open_stream(viewer, "operation", operation).await;
        let asked = of_operation.update().await["filter"]["payload"].clone();
        assert_eq!(asked, json!({"apiKey": value, "n": "1"}));
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn one_stream_can_have_changes_and_an_open_object(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let job = a_job_of(&client, &app, json!({"n": 1})).await;
    let both = async |opened: &str| {
        let path = format!("/api/v1/live?changes=true&open={opened}");
        let response = client.request(Method::GET, &path).send().await.unwrap();
        assert_eq!(response.status(), 200);
        (Box::pin(response.bytes_stream()), String::new())
    };
    let (mut stream, mut text) = both(&format!("job:{job}")).await;
    let mut names = BTreeSet::new();
    while !names.is_superset(&BTreeSet::from(["snapshot".to_owned(), "job".to_owned()])) {
        names.insert(next(&mut stream, &mut text).await.0);
    }
    client.act(&format!("/jobs/{job}/cancel")).await.ok(200);
    loop {
        let (name, update) = next(&mut stream, &mut text).await;
        if name == "job" && update["now"]["detail"]["status"] == "cancelled" {
            break;
        }
    }
    // An unknown object does not affect the changes.
    let (mut stream, mut text) = both("job:01890a5d-ac96-774b-bcce-b302099a8057").await;
    let mut names = BTreeSet::new();
    while !names.is_superset(&BTreeSet::from(["changes".to_owned(), "gone".to_owned()])) {
        a_job_of(&client, &app, json!({})).await;
        names.insert(next(&mut stream, &mut text).await.0);
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn objects_of_other_apps_cannot_be_open(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let (own, foreign) = (an_app(&client, "Own").await, an_app(&client, "Foreign").await);
    let integration = a_webhook(&client, &foreign, "http://127.0.0.1:9/").await;
    let job = a_job_of(&client, &foreign, json!({})).await;
    // Somebody with access has them open: what is read for them is not shared with others.
    let mut of_job = open_stream(&client, "job", &job).await;
    of_job.update().await;
    let mut of_integration = open_stream(&client, "integration", &integration).await;
    of_integration.update().await;
    let portal = server.key(Role::Portal, Some(&own)).await;
    portal.get(&format!("/live?open=job:{job}")).await.problem(404);
    portal.get(&format!("/live?open=integration:{integration}")).await.problem(404);
    let nothing = "01890a5d-ac96-774b-bcce-b302099a8057";
    client.get(&format!("/live?open=operation:{nothing}")).await.problem(404);
    for unreadable in ["job", "job:7", "app:01890a5d-ac96-774b-bcce-b302099a8057"] {
        assert_eq!(
            client.get(&format!("/live?open={unreadable}")).await.pointers(422),
            ["open"],
            "{unreadable}"
        );
    }
    // A deletion is an event, and the stream ends.
    client.delete(&format!("/integrations/{integration}")).await;
    let OpenedStream { mut stream, mut text, .. } = of_integration;
    loop {
        let (name, _) = next(&mut stream, &mut text).await;
        if name == "gone" {
            break;
        }
        assert_eq!(name, "integration");
    }
    while let Some(rest) = stream.next().await {
        assert!(rest.unwrap().as_ref().iter().all(u8::is_ascii_whitespace), "no event after that");
    }
    let own_job = a_job_of(&client, &own, json!({})).await;
    let mut of_own_job = open_stream(&portal, "job", &own_job).await;
    assert_eq!(of_own_job.update().await["detail"]["app_id"], json!(own));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn two_hundred_viewers_of_a_job_cost_the_database_as_much_as_one(pool: PgPool) {
    const JOB_QUERY: &str = "headgate.attempts_of($1)";
    const VERSION_QUERY: &str = "'job:' || o.id";
    let limits = ConnectionLimits { all: 400, per_address: 400, ..ConnectionLimits::for_files(None) };
    let server = Server::bounded(pool.clone(), limits, Pace::default()).await;
    let client = server.operator();
    let job = a_job_of(&client, &an_app(&client, "Shop").await, json!({})).await;
    let (statements, began_at) = (Statements::of_this_test(), Instant::now());
    let mut viewers = join_all((0..200).map(|_| open_stream(&client, "job", &job))).await;
    join_all(viewers.iter_mut().map(OpenedStream::update)).await;
    assert_eq!(statements.count(JOB_QUERY), 1, "read once for all");
    // Changed directly in the database, so that only the streams read it.
    let change = "update headgate.jobs set priority = 1 where id = $1::uuid";
    sqlx::query(change).bind(&job).execute(&pool).await.unwrap();
    join_all(
        viewers
            .iter_mut()
            .map(async |viewer| viewer.next_matching(|now| now["detail"]["priority"] == 1).await),
    )
    .await;
    assert_eq!(statements.count(JOB_QUERY), 2, "and once for all after a change");
    let polls = statements.count(VERSION_QUERY);
    let max_polls = began_at.elapsed().as_millis() / 40 + 1;
    assert!(
        (2..=max_polls).contains(&(polls as u128)),
        "one poll for all of them each time: {polls} of {max_polls}"
    );
}
