use crate::support::{Answer, Client, Server, Statements, a_webhook, an_app};
use chrono::{DateTime, TimeDelta, Utc};
use futures::{Stream, StreamExt, future::join_all};
use model::actor::Role;
use reqwest::Method;
use serde_json::{Value, json};
use server::{connections::ConnectionLimits, middleware::Pace};
use sqlx::PgPool;
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

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

/// The moment of the next event of a stream of snapshots or changes.
async fn moment<B: AsRef<[u8]>>(
    stream: &mut (impl Stream<Item = reqwest::Result<B>> + Unpin),
    text: &mut String,
) -> DateTime<Utc> {
    let (_, told) = next(stream, text).await;
    told["at"].as_str().unwrap().parse().unwrap()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn while_something_moves_changes_come_sooner_and_snapshots_once_a_second(pool: PgPool) {
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
    let mut before = moment(&mut changes, &mut of_changes).await;
    loop {
        // Until a sample follows one that saw something move.
        a_job_of(&client, &app, json!({})).await;
        let at = moment(&mut changes, &mut of_changes).await;
        if at - before < apart {
            break;
        }
        before = at;
    }
    let mut before = moment(&mut snapshots, &mut of_snapshots).await;
    for _ in 0..3 {
        let at = moment(&mut snapshots, &mut of_snapshots).await;
        assert!(at - before >= apart, "{} after the one before", at - before);
        before = at;
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
    let authenticate_key = opened(server.anonymous().with_key(key["key"].as_str().unwrap())).await;
    let (ada, eve) = (server.person("ada", Role::Support).await, server.person("eve", Role::Support).await);
    let (of_ada, of_eve) = (opened(ada.clone()).await, opened(eve).await);
    let mut stays = opened(server.person("ida", Role::Auditor).await).await;

    client.delete(&format!("/api-keys/{}", key["id"].as_str().unwrap())).await.ok(204);
    assert!(ends(authenticate_key).await, "a revoked key");
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

/// A stream that tells of one thing: what it says of that.
struct Watching<S> {
    kind: &'static str,
    stream: S,
    text: String,
}

async fn watching(
    client: &Client,
    kind: &'static str,
    id: &str,
) -> Watching<impl Stream<Item = reqwest::Result<impl AsRef<[u8]>>> + Unpin> {
    let path = format!("/api/v1/live?open={kind}:{id}");
    let response = client.request(Method::GET, &path).send().await.unwrap();
    assert_eq!(response.status(), 200);
    Watching { kind, stream: Box::pin(response.bytes_stream()), text: String::new() }
}

impl<B: AsRef<[u8]>, S: Stream<Item = reqwest::Result<B>> + Unpin> Watching<S> {
    /// What it is told to be next.
    async fn told(&mut self) -> Value {
        let (name, data) = next(&mut self.stream, &mut self.text).await;
        assert_eq!(name, self.kind, "no snapshot of the sampler's");
        data["now"].clone()
    }

    /// Until it is told to be like that.
    async fn is_told(&mut self, is_like_that: impl Fn(&Value) -> bool) -> Value {
        loop {
            let told = self.told().await;
            if is_like_that(&told) {
                return told;
            }
        }
    }
}

/// A job that nobody runs.
async fn a_job_of(client: &Client, app: &str, payload: Value) -> String {
    let new = json!({"app_id": app, "job_type": "export", "payload": payload});
    let made = client.post("/jobs", new).await.ok(201);
    made["items"][0]["id"].as_str().unwrap().to_owned()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_is_open_is_told_as_it_is_and_with_each_change_and_not_by_the_sampler(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let app = an_app(&client, "Shop").await;
    let integration = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    let job = a_job_of(&client, &app, json!({"apiKey": "k-1", "n": 1})).await;

    let mut of_job = watching(&client, "job", &job).await;
    let told = of_job.told().await;
    assert_eq!((&told["detail"]["id"], &told["detail"]["status"]), (&json!(job), &json!("pending")));
    assert_eq!(told["explanation"], client.get(&format!("/jobs/{job}/explain")).await.ok(200));
    assert_eq!(
        told["detail"]["payload"],
        json!({"apiKey": "[masked]", "n": 1}),
        "a page reveals by itself nothing"
    );
    client.act(&format!("/jobs/{job}/cancel")).await.ok(200);
    let told = of_job.is_told(|now| now["detail"]["status"] == "cancelled").await;
    assert_eq!(told["explanation"]["state"], "cancelled");
    client.act(&format!("/jobs/{job}/requeue")).await.ok(200);
    of_job.is_told(|now| now["detail"]["status"] == "pending").await;

    let mut of_integration = watching(&client, "integration", &integration).await;
    assert_eq!(of_integration.told().await["state"], "active");
    client.act(&format!("/integrations/{integration}/pause")).await.ok(200);
    of_integration.is_told(|now| now["state"] == "paused").await;

    let jobs: Vec<Value> =
        (0..101).map(|n| json!({"app_id": app, "job_type": "export", "payload": n})).collect();
    client.post("/jobs", json!(jobs)).await.ok(201);
    let body =
        json!({"action": "cancel", "filter": {"app_id": app}, "hold_seconds": 3600, "reason": "by mistake"});
    let started = client.post("/jobs/bulk", body).await.ok(202);
    let operation = started["operation_id"].as_str().unwrap();
    let mut of_operation = watching(&client, "operation", operation).await;
    assert_eq!(of_operation.told().await["state"], "held");
    client.act(&format!("/operations/{operation}/pause")).await.ok(200);
    of_operation.is_told(|now| now["state"] == "paused").await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn one_stream_tells_the_numbers_and_what_is_open(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let app = an_app(&client, "Shop").await;
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
        let (name, told) = next(&mut stream, &mut text).await;
        if name == "job" && told["now"]["detail"]["status"] == "cancelled" {
            break;
        }
    }
    // What is not there takes the numbers away from nobody.
    let (mut stream, mut text) = both("job:01890a5d-ac96-774b-bcce-b302099a8057").await;
    let mut names = BTreeSet::new();
    while !names.is_superset(&BTreeSet::from(["changes".to_owned(), "gone".to_owned()])) {
        a_job_of(&client, &app, json!({})).await;
        names.insert(next(&mut stream, &mut text).await.0);
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_another_app_has_cannot_be_open(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let (own, foreign) = (an_app(&client, "Own").await, an_app(&client, "Foreign").await);
    let integration = a_webhook(&client, &foreign, "http://127.0.0.1:9/").await;
    let job = a_job_of(&client, &foreign, json!({})).await;
    // Somebody who may has them open: what was read for them is told to nobody else.
    let mut of_job = watching(&client, "job", &job).await;
    of_job.told().await;
    let mut of_integration = watching(&client, "integration", &integration).await;
    of_integration.told().await;
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
    // What is deleted says so, and its stream ends.
    client.delete(&format!("/integrations/{integration}")).await;
    let Watching { mut stream, mut text, .. } = of_integration;
    loop {
        let (name, _) = next(&mut stream, &mut text).await;
        if name == "gone" {
            break;
        }
        assert_eq!(name, "integration");
    }
    while let Some(rest) = stream.next().await {
        assert!(rest.unwrap().as_ref().iter().all(u8::is_ascii_whitespace), "nothing is told after that");
    }
    let own_job = a_job_of(&client, &own, json!({})).await;
    let mut of_own_job = watching(&portal, "job", &own_job).await;
    assert_eq!(of_own_job.told().await["detail"]["app_id"], json!(own));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn two_hundred_who_have_a_job_open_cost_the_database_what_one_costs(pool: PgPool) {
    const READS_A_JOB: &str = "headgate.attempts_of($1)";
    const LOOKS: &str = "'job:' || o.id";
    let limits = ConnectionLimits { all: 400, per_address: 400, ..ConnectionLimits::for_files(None) };
    let server = Server::bounded(pool.clone(), limits, Pace::default()).await;
    let client = server.operator();
    let job = a_job_of(&client, &an_app(&client, "Shop").await, json!({})).await;
    let (statements, began_at) = (Statements::of_this_test(), Instant::now());
    let mut viewers = join_all((0..200).map(|_| watching(&client, "job", &job))).await;
    join_all(viewers.iter_mut().map(Watching::told)).await;
    assert_eq!(statements.saying(READS_A_JOB), 1, "read by the first of them");
    // Nobody reads it but for the streams: it is changed behind their backs.
    let change = "update headgate.jobs set priority = 1 where id = $1::uuid";
    sqlx::query(change).bind(&job).execute(&pool).await.unwrap();
    join_all(
        viewers.iter_mut().map(async |viewer| viewer.is_told(|now| now["detail"]["priority"] == 1).await),
    )
    .await;
    assert_eq!(statements.saying(READS_A_JOB), 2, "and once for all after a change");
    let looks = statements.saying(LOOKS);
    let at_most = began_at.elapsed().as_millis() / 40 + 1;
    assert!(
        (2..=at_most).contains(&(looks as u128)),
        "one look for all of them each time: {looks} of {at_most}"
    );
}
