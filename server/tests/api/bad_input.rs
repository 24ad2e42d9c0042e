//! Invalid requests get a 4xx problem that points at the fault, and nothing is stored.

use crate::support::{Server, a_webhook, an_app, an_event};
use model::actor::Role;
use serde_json::{Value, json};
use sqlx::PgPool;

const JSON: Option<&str> = Some("application/json");

async fn rows(pool: &PgPool) -> i64 {
    sqlx::query_scalar(
        "select (select count(*) from headgate.records) + (select count(*) from headgate.jobs)",
    )
    .fetch_one(pool)
    .await
    .unwrap()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn invalid_json_is_refused_with_its_place(pool: PgPool) {
    let server = Server::start(pool.clone()).await;
    let client = server.operator();
    for (body, part) in [
        ("", "empty"),
        ("{", "line 1"),
        ("{\"app_id\": }", "column 12"),
        ("{'app_id': 1}", "line 1"),
        ("[1, 2,]", "line 1"),
        ("{\"a\": \"\\ud800\"}", "line 1"),
        ("nonsense", "line 1"),
    ] {
        for path in ["/events", "/jobs", "/apps", "/jobs/bulk"] {
            let problem = client.send(path, JSON, body).await.problem(400);
            assert!(problem["detail"].as_str().unwrap().contains(part), "{body}: {problem}");
            // With a pointer, except for an empty body.
            assert_eq!(problem["errors"][0]["pointer"].is_string(), !body.is_empty(), "{problem}");
        }
    }
    let lone = client.send("/events", JSON, "[{\"attributes\": {\"a\": \"\\ud800\"}}]").await;
    assert_eq!(lone.pointers(400), ["/0/attributes/a"]);
    client.send("/events", JSON, &b"{\"a\": \"\xff\"}"[..]).await.problem(400);
    assert_eq!(rows(&pool).await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn numbers_that_would_change_are_refused_with_their_place(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool.clone()).await;
    for number in ["12345678901234567890123456789", "18446744073709551616", "-9223372036854775809", "1e400"] {
        let event = an_event(&app, "1").to_string().replace("\"price\":5", &format!("\"price\":{number}"));
        let refused = client.send("/events", JSON, event.clone()).await;
        assert_eq!(refused.pointers(422), ["/attributes/price"], "{number}");
        assert!(refused.text.contains("send it as a string"), "{}", refused.text);
        let refused = client.send("/events", JSON, format!("[{},{event}]", an_event(&app, "2"))).await;
        assert_eq!(refused.pointers(422), ["/1/attributes/price"], "{number}");
        let job = format!(r#"{{"app_id": "{app}", "job_type": "x", "payload": [1.5e300, {number}]}}"#);
        assert_eq!(client.send("/jobs", JSON, job).await.pointers(422), ["/payload/1"], "{number}");
    }
    assert_eq!(rows(&pool).await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_fields_of_an_object_are_not_read_from_an_array(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool.clone()).await;
    for (path, body, pointer) in [
        ("/apps", json!(["Shop"]), ""),
        ("/api-keys", json!(["ci", "operator"]), ""),
        ("/users", json!(["ada@example.test", "Ada", "operator", "correct horse battery"]), ""),
        ("/jobs", json!([[app, null, "export"]]), "/0"),
        ("/jobs/bulk", json!({"action": "cancel", "filter": ["failed"]}), "/filter"),
    ] {
        let refused = client.post(path, body).await;
        assert_eq!(refused.pointers(422), [pointer], "{path}");
        assert!(refused.text.contains("array, expected an object"), "{}", refused.text);
    }
    assert_eq!(client.get("/api-keys").await.ok(200)["items"], json!([]));
    assert_eq!(rows(&pool).await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn other_content_types_are_refused(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool.clone()).await;
    let event = an_event(&app, "1").to_string();
    for kind in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
        Some("application/json; charset=latin1"),
        Some("application/jsonx"),
    ] {
        for (path, body) in [("/events", event.as_str()), ("/apps", "{\"name\": \"x\"}")] {
            let problem = client.send(path, kind, body.to_owned()).await.problem(415);
            assert!(problem["detail"].as_str().unwrap().contains("application/json"), "{problem}");
        }
    }
    assert_eq!(rows(&pool).await, 0);
    client.send("/events", Some("Application/JSON; charset=\"UTF-8\""), event).await.ok(202);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn faults_of_events_have_pointers_to_item_and_field(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool.clone()).await;
    a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    let deep = (0..65).fold(json!(1), |inner, _| json!([inner]));
    for (field, value, pointer) in [
        ("nonsense", json!(1), "/nonsense"),
        ("app_id", json!("x"), "/app_id"),
        ("app_id", json!(null), "/app_id"),
        ("type", json!("order.paid"), "/type"),
        ("type", json!(7), "/type"),
        ("record_type", json!(""), "/record_type"),
        ("record_id", json!("x".repeat(256)), "/record_id"),
        ("record_id", json!("a\u{0}b"), "/record_id"),
        ("record_id", json!("."), "/record_id"),
        ("record_id", json!(".."), "/record_id"),
        ("record_type", json!(".."), "/record_type"),
        ("record_id", json!(5), "/record_id"),
        ("attributes", json!([1]), "/attributes"),
        ("attributes", json!({"a": {"b": "x\u{0}"}}), "/attributes/a/b"),
        ("attributes", json!({"a": deep}), ""),
        ("occurred_at", json!("yesterday"), "/occurred_at"),
        ("correlation_id", json!(""), "/correlation_id"),
    ] {
        let mut event = an_event(&app, "1");
        event[field] = value;
        let one = client.post("/events", event.clone()).await.pointers(422);
        assert!(one[0].starts_with(pointer), "{one:?} for {pointer}");
        let many = client.post("/events", json!([an_event(&app, "2"), event])).await.pointers(422);
        assert!(many[0].starts_with(&format!("/1{pointer}")), "{many:?} for {pointer}");
    }
    let mut missing = an_event(&app, "1");
    missing.as_object_mut().unwrap().remove("record_type");
    assert_eq!(client.post("/events", missing).await.pointers(422), ["/record_type"]);
    for body in [json!("x"), json!(5), json!(null), json!([1]), json!([])] {
        client.post("/events", body).await.problem(422);
    }
    assert_eq!(rows(&pool).await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn sizes_have_limits(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool.clone()).await;
    let event = |id: &str, bytes: usize| {
        let mut event = an_event(&app, id);
        event["attributes"] = json!({"text": "x".repeat(bytes)});
        event
    };
    // Too many: 422. Too large a record, payload or request: 413.
    let many: Vec<Value> = (0..1_001).map(|n| an_event(&app, &n.to_string())).collect();
    client.post("/events", json!(many)).await.problem(422);
    let jobs = vec![json!({"app_id": app, "job_type": "x"}); 1_001];
    client.post("/jobs", json!(jobs)).await.problem(422);
    let large = client.post("/events", json!([event("1", 10), event("2", 1_000_001)])).await.pointers(413);
    assert_eq!(large, ["/1/attributes"]);
    let job = json!({"app_id": app, "job_type": "x", "payload": "x".repeat(1_000_001)});
    assert_eq!(client.post("/jobs", job).await.pointers(413), ["/payload"]);
    let huge = " ".repeat(16_000_001);
    client.send("/events", JSON, huge.clone()).await.problem(413);
    // Without a content-length too.
    let chunks = futures::stream::iter(vec![Ok::<_, std::io::Error>(huge)]);
    client.send("/events", JSON, reqwest::Body::wrap_stream(chunks)).await.problem(413);
    // Nesting that would overflow a stack.
    client.send("/events", JSON, "[".repeat(1_000_000)).await.problem(422);
    assert_eq!(rows(&pool).await, 0);
    client.post("/events", event("1", 900_000)).await.ok(202);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn invalid_limits_and_urls_are_refused_with_pointers(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    for (field, value, pointer) in [
        ("name", json!(" "), "/name"),
        ("name", json!("a\u{0}"), "/name"),
        ("integration_type", json!("fax"), "/integration_type"),
        ("rate_limit", json!({"requests": 0, "per_seconds": 1}), "/rate_limit/requests"),
        ("rate_limit", json!({"requests": 1_000_001, "per_seconds": 1}), "/rate_limit/requests"),
        ("rate_limit", json!([{"requests": 1, "per_seconds": 0}]), "/rate_limit/0/per_seconds"),
        ("rate_limit", json!("fast"), "/rate_limit"),
        ("max_concurrency", json!(0), "/max_concurrency"),
        ("max_concurrency", json!(2_147_483_648_i64), "/max_concurrency"),
        ("timeout_ms", json!(99), "/timeout_ms"),
        ("max_attempts", json!(101), "/max_attempts"),
        ("record_types", json!(["ok", ""]), "/record_types/1"),
        ("headers", json!({"webhook-id": "x"}), "/headers/webhook-id"),
        ("headers", json!({"x": "a\nb"}), "/headers/x"),
        ("endpoint_url", json!("ftp://example.com/"), "/endpoint_url"),
        ("endpoint_url", json!("https://user:pass@example.com/"), "/endpoint_url"),
        ("endpoint_url", json!("javascript:alert(1)"), "/endpoint_url"),
        ("endpoint_url", json!("nonsense"), "/endpoint_url"),
        ("endpoint_url", json!("https://10.0.0.1/"), "/endpoint_url"),
        ("endpoint_url", json!("https://169.254.169.254/"), "/endpoint_url"),
        ("endpoint_url", json!("https://[::1]/"), "/endpoint_url"),
        ("endpoint_url", json!("http://8.8.8.8/"), "/endpoint_url"),
        ("endpoint_url", json!("http://shop.invalid/"), "/endpoint_url"),
        ("endpoint_url", json!(null), "/endpoint_url"),
    ] {
        let mut body = json!({
            "app_id": app, "name": "ERP", "integration_type": "webhook", "endpoint_url": "http://127.0.0.1:9/",
        });
        body[field] = value.clone();
        assert_eq!(client.post("/integrations", body).await.pointers(422), [pointer], "{field}: {value}");
    }
    assert_eq!(
        client.get("/integrations").await.ok(200)["items"].as_array().unwrap().len(),
        1,
        "only the built-in one"
    );
    let id = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    let refused =
        client.patch(&format!("/integrations/{id}"), json!({"endpoint_url": "https://192.168.0.1/"})).await;
    assert_eq!(refused.pointers(422), ["/endpoint_url"]);
    let refused = client.patch(&format!("/integrations/{id}"), json!({"signing_secret": "whsec_x"})).await;
    assert_eq!(refused.pointers(422), ["/signing_secret"]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn faults_of_jobs_have_pointers(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool.clone()).await;
    for (field, value, pointer) in [
        ("priority", json!(101), "/priority"),
        ("priority", json!("high"), "/priority"),
        ("max_attempts", json!(0), "/max_attempts"),
        ("timeout_ms", json!(3_600_001), "/timeout_ms"),
        ("deduplication_id", json!(""), "/deduplication_id"),
        ("serialize_key", json!("k".repeat(256)), "/serialize_key"),
        ("payload", json!({"a": ["\u{0}"]}), "/payload/a/0"),
        ("run_at", json!("soon"), "/run_at"),
        ("job_type", json!(""), "/job_type"),
        ("app_id", Value::Null, "/integration_id"),
        ("nonsense", json!(1), "/nonsense"),
    ] {
        let mut job = json!({"app_id": app, "job_type": "export"});
        job[field] = value;
        assert_eq!(client.post("/jobs", job).await.pointers(422), [pointer], "{field}");
    }
    assert_eq!(rows(&pool).await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn unknown_ids_and_ids_of_other_apps_get_the_same_answer(pool: PgPool) {
    let server = Server::start(pool.clone()).await;
    let client = server.operator();
    let (own, foreign) = (an_app(&client, "Own").await, an_app(&client, "Foreign").await);
    let theirs = a_webhook(&client, &foreign, "http://127.0.0.1:9/").await;
    let unknown = "01890a5d-ac96-774b-bcce-b302099a8057";
    let portal = server.key(Role::Portal, Some(&own)).await;
    let mut bodies = Vec::new();
    for id in [theirs.as_str(), unknown, "nonsense", "%00", "..%2F..%2Fetc"] {
        bodies.push(portal.get(&format!("/integrations/{id}")).await.problem(404));
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    let producer = server.key(Role::Producer, Some(&own)).await;
    let mut bodies = Vec::new();
    for id in [theirs.as_str(), unknown] {
        let job = json!({"integration_id": id, "job_type": "export"});
        let answer = producer.post("/jobs", job).await;
        assert_eq!(answer.pointers(404), ["/integration_id"]);
        bodies.push(answer.json());
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    for id in [foreign.as_str(), unknown] {
        assert_eq!(producer.post("/events", an_event(id, "1")).await.pointers(404), ["/app_id"]);
    }
    assert_eq!(rows(&pool).await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn refusals_use_terms_of_json_and_not_of_rust(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let mut refused = Vec::new();
    for (path, pointer) in [
        ("/jobs?attempt=many", "attempt"),
        ("/jobs?attempt=-1", "attempt"),
        ("/jobs?attempt=99999", "attempt"),
        ("/jobs?masked_names=x", "masked_names"),
        ("/jobs?app_id=7", "app_id"),
        ("/jobs?statuz=failed", "statuz"),
        ("/jobs?job_type=a&job_type=b", "job_type"),
        ("/live?changes=perhaps", "changes"),
        ("/dead-letters?status=completed", "status"),
        ("/dead-letters/groups?status=pending", "status"),
    ] {
        let answer = client.get(path).await;
        assert_eq!(answer.pointers(422), [pointer], "{path}");
        refused.push(answer.text);
    }
    for (path, body, pointer) in [
        ("/events", json!(7), ""),
        ("/events", json!([7]), "/0"),
        ("/events", json!([[app, "record.updated", "product", "1"]]), "/0"),
        ("/api-keys", json!(["ci", "operator"]), ""),
        ("/jobs/bulk", json!({"action": "cancel", "filter": ["failed"]}), "/filter"),
        ("/jobs", json!({"app_id": app, "job_type": ["x"]}), "/job_type"),
        ("/jobs", json!({"app_id": app, "job_type": "x", "priority": "high"}), "/priority"),
        ("/jobs", json!({"app_id": app, "job_type": "x", "max_attempts": 1.5}), "/max_attempts"),
        ("/jobs", json!({"app_id": app, "job_type": 7}), "/job_type"),
        ("/jobs", json!({"app_id": 7, "job_type": "x"}), "/app_id"),
        ("/jobs/bulk", json!({"action": "cancel", "ids": "all"}), "/ids"),
        ("/jobs/bulk", json!({"action": "cancel", "filter": {"attempt": -1}}), "/filter/attempt"),
        (
            "/jobs/bulk",
            json!({"action": "cancel", "filter": {"masked_names": ["x"], "q": "x"}}),
            "/filter/masked_names",
        ),
        ("/jobs/bulk", json!({"action": "cancel", "filter": {"statuz": "x"}}), "/filter/statuz"),
        (
            "/dead-letters/bulk",
            json!({"action": "requeue", "filter": {"status": "pending"}}),
            "/filter/status",
        ),
    ] {
        let answer = client.post(path, body.clone()).await;
        assert_eq!(answer.pointers(422), [pointer], "{path} {body}");
        refused.push(answer.text);
    }
    for text in refused {
        for rust_term in
            ["struct", "i16", "i32", "i64", "u32", "unsupported value", "sequence", "a map", "digit"]
        {
            assert!(!text.contains(rust_term), "{rust_term}: {text}");
        }
        assert_eq!(
            text.matches("masked_names").count() > 0,
            text.contains("masked_names\",\"detail"),
            "{text}"
        );
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn credentials_in_a_url_are_refused_without_quoting_them(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    for url in ["https://user:secret@example.com/hook", "https://user@example.com/hook"] {
        let new = json!({"app_id": app, "name": "Hook", "integration_type": "webhook", "endpoint_url": url});
        let refused = client.post("/integrations", new).await;
        assert_eq!(refused.pointers(422), ["/endpoint_url"]);
        assert!(refused.text.contains("user name or a password") && !refused.text.contains("secret@"));
    }
}
