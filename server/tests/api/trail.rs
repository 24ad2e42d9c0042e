//! A text is looked up as everything it may be, and every job about it is found.

use crate::support::{Client, Receiver, Server, a_webhook, an_app, an_event};
use model::actor::Role;
use serde_json::{Value, json};
use sqlx::PgPool;

fn names<'a>(trail: &'a Value, list: &str, field: &str) -> Vec<&'a str> {
    trail[list].as_array().unwrap().iter().filter_map(|item| item[field].as_str()).collect()
}

fn readings(trail: &Value) -> Vec<&str> {
    trail["readings"].as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

async fn trail(client: &Client, query: &str) -> Value {
    client.get(&format!("/records/trail?{query}")).await.ok(200)
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_record_id_finds_every_job_of_every_integration(pool: PgPool) {
    let server = Server::with_workers(pool).await;
    let client = server.operator();
    let app = an_app(&client, "Acme").await;
    let (accepts, rejects) = (Receiver::answering(200).await, Receiver::answering(400).await);
    let good = a_webhook(&client, &app, &accepts.url()).await;
    let bad = a_webhook(&client, &app, &rejects.url()).await;
    let waiting = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    client.act(&format!("/integrations/{waiting}/pause")).await.ok(200);
    client.post("/events", an_event(&app, "4711")).await.ok(202);
    server.recorded(2).await;
    client
        .post(
            "/events",
            json!({"app_id": app, "type": "record.updated", "record_type": "product", "record_id": "4711",
        "attributes": {"price": 6}}),
        )
        .await
        .ok(202);
    server.recorded(4).await;

    for query in ["q=4711", "q=product+4711", "q=product/4711", "q=headgate:record:product:4711"] {
        let found = trail(&client, query).await;
        assert_eq!(readings(&found), ["record"], "{query}");
        // Two jobs each of the integrations that accept and reject; in the paused one both changes folded into one job.
        let mut at: Vec<&str> = names(&found, "items", "integration_id");
        at.sort_unstable();
        let mut expected = [&good, &good, &bad, &bad, &waiting].map(String::as_str);
        expected.sort_unstable();
        assert_eq!(at, expected, "{query}");
        let folded =
            found["items"].as_array().unwrap().iter().find(|job| job["integration_id"] == waiting.as_str());
        assert_eq!(folded.unwrap()["folded"], 1);
        let record = &found["records"][0];
        assert_eq!((&record["app_name"], &record["version"]), (&json!("Acme"), &json!(2)));
        let in_sync: Vec<&Value> =
            record["integrations"].as_array().unwrap().iter().map(|sync| &sync["in_sync"]).collect();
        assert_eq!(in_sync, [true, false, false]);
    }
    assert_eq!(trail(&client, "q=order+4711").await["items"], json!([]));
    assert_eq!(trail(&client, "q=4711&record_type=order").await["items"], json!([]));
    assert_eq!(readings(&trail(&client, "q=471").await), [""; 0], "ids must match exactly");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn ambiguous_texts_have_several_readings_and_can_be_filtered(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let (acme, globex) = (an_app(&client, "4711").await, an_app(&client, "Globex").await);
    for app in [&acme, &globex] {
        a_webhook(&client, app, "http://127.0.0.1:9/").await;
        client.post("/events", an_event(app, "4711")).await.ok(202);
    }
    let job =
        json!({"app_id": globex, "job_type": "export", "correlation_id": "4711", "deduplication_id": "4711"});
    let made = client.post("/jobs", job).await.ok(201);
    let id = made["items"][0]["id"].as_str().unwrap();
    let all = trail(&client, "q=4711").await;
    assert_eq!(readings(&all), ["record", "correlation", "deduplication", "app"]);
    assert_eq!(
        (names(&all, "records", "app_name"), names(&all, "apps", "name")),
        (vec!["4711", "Globex"], vec!["4711"])
    );
    assert_eq!(all["items"].as_array().unwrap().len(), 3, "a job found twice is listed once");
    for (query, jobs) in [
        ("as=record", 2),
        ("as=correlation", 1),
        ("as=deduplication", 1),
        ("as=app", 0),
        ("as=job", 0),
        (&format!("app_id={globex}") as &str, 2),
        (&format!("as=record&app_id={acme}"), 1),
    ] {
        assert_eq!(
            trail(&client, &format!("q=4711&{query}")).await["items"].as_array().unwrap().len(),
            jobs,
            "{query}"
        );
    }
    // A finished job is found by its id, its deduplication id and its correlation id.
    client.act(&format!("/jobs/{id}/cancel")).await.ok(200);
    for query in [format!("q={id}"), "q=4711&as=deduplication".to_owned(), "q=4711&as=correlation".to_owned()]
    {
        let found = trail(&client, &query).await;
        assert_eq!(names(&found, "items", "id"), [id], "{query}");
        assert_eq!(found["items"][0]["status"], "cancelled");
    }
    for (query, pointer) in [("", "q"), ("q=", "q"), ("q=1&as=order", "as"), ("q=1&nonsense=1", "nonsense")] {
        assert_eq!(client.get(&format!("/records/trail?{query}")).await.pointers(422), [pointer], "{query}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_app_is_found_by_a_prefix_of_its_name_and_shows_failures(pool: PgPool) {
    let server = Server::with_workers(pool).await;
    let client = server.operator();
    let app = an_app(&client, "Acme 50% off").await;
    an_app(&client, "Acmeology").await;
    let receiver = Receiver::answering(400).await;
    let integration = a_webhook(&client, &app, &receiver.url()).await;
    client.post("/events", an_event(&app, "lamp")).await.ok(202);
    server.recorded(1).await;
    assert_eq!(names(&trail(&client, "q=acme").await, "apps", "name"), ["Acme 50% off", "Acmeology"]);
    let found = trail(&client, "q=ACME+50%25").await;
    assert_eq!((readings(&found), names(&found, "apps", "name")), (vec!["app"], vec!["Acme 50% off"]));
    let integrations = found["apps"][0]["integrations"].as_array().unwrap();
    assert!(integrations.iter().any(|gauge| gauge["integration_id"] == integration.as_str()), "{found}");
    assert_eq!(found["apps"][0]["failures"][0]["record_id"], "lamp");
    assert_eq!(trail(&client, "q=%25").await["apps"], json!([]), "% is not a wildcard");
    assert_eq!(names(&trail(&client, &format!("q={app}")).await, "apps", "name"), ["Acme 50% off"]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_key_of_one_app_finds_nothing_of_another(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let (mine, other) = (an_app(&client, "Mine").await, an_app(&client, "Other").await);
    for app in [&mine, &other] {
        a_webhook(&client, app, "http://127.0.0.1:9/").await;
        client.post("/events", an_event(app, "4711")).await.ok(202);
    }
    let theirs = client.get(&format!("/jobs?app_id={other}")).await.ok(200)["items"][0].clone();
    let portal = server.key(Role::Portal, Some(&mine)).await;
    let found = trail(&portal, "q=4711").await;
    assert_eq!(
        (names(&found, "items", "app_id"), names(&found, "records", "app_name")),
        (vec![mine.as_str()], vec!["Mine"])
    );
    let (id, correlation) = (theirs["id"].as_str().unwrap(), theirs["correlation_id"].as_str().unwrap());
    for query in [
        format!("q={id}"),
        format!("q={correlation}"),
        "q=Other".to_owned(),
        format!("q=4711&app_id={other}"),
    ] {
        let found = trail(&portal, &query).await;
        assert_eq!(
            (&found["items"], &found["apps"], &found["records"]),
            (&json!([]), &json!([]), &json!([])),
            "{query}"
        );
    }
    server.key(Role::Producer, Some(&mine)).await.get("/records/trail?q=4711").await.problem(403);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn pages_of_a_trail_have_no_gap_or_overlap(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let jobs: Vec<Value> = (0..7)
        .map(|n| json!({"app_id": app, "job_type": "export", "correlation_id": "c", "payload": n}))
        .collect();
    client.post("/jobs", json!(jobs)).await.ok(201);
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = trail(&client, &format!("q=c&limit=3{cursor}")).await;
        seen.extend(names(&page, "items", "id").into_iter().map(str::to_owned));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(seen.len(), 7);
    assert!(seen.windows(2).all(|pair| pair[0] > pair[1]));
}
