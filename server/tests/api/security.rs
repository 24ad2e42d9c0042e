use crate::support::{Answer, Server};
use reqwest::Method;
use serde_json::json;
use sqlx::PgPool;

const PASSWORD: &str = "correct horse";

/// The session cookie of a new operator.
async fn a_session(server: &Server) -> String {
    let new = json!({"email": "ada@example.test", "role": "operator", "password": PASSWORD});
    server.operator().post("/users", new).await.ok(201);
    let client = access::Client { address: "203.0.113.7".parse().unwrap(), device: None };
    let token = server.state.headgate.access().sign_in("ada@example.test", PASSWORD, client).await.unwrap();
    format!("headgate={}", token.expose())
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_answer_has_security_headers_and_an_id(pool: PgPool) {
    let server = Server::start(pool).await;
    for (answer, status) in [
        (server.operator().get("/apps").await, 200),
        (server.anonymous().get("/apps").await, 401),
        (server.operator().get("/nonsense").await, 404),
    ] {
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert!(answer.header("content-security-policy").contains("default-src 'none'"));
        assert!(answer.header("content-security-policy").contains("frame-ancestors 'none'"));
        assert!(!answer.header("x-request-id").is_empty());
        assert_eq!(answer.header("strict-transport-security"), "");
    }
    let own =
        server.operator().with("x-request-id", "mine").with("x-forwarded-proto", "https").get("/apps").await;
    assert_eq!(own.header("x-request-id"), "mine");
    assert!(own.header("strict-transport-security").starts_with("max-age="));
    let invalid = server.operator().with("x-request-id", &"x".repeat(500)).get("/apps").await;
    assert_ne!(invalid.header("x-request-id").len(), 500);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn unknown_paths_and_methods_are_problems_too(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    client.get("/nonsense").await.problem(404);
    client.get("/jobs/").await.problem(404);
    for (method, path) in [
        (Method::PUT, "/healthz"),
        (Method::DELETE, "/sign-in"),
        (Method::PUT, "/console/theme"),
        (Method::POST, "/console/jobs"),
        (Method::POST, "/api/openapi.json"),
        (Method::PUT, "/jobs"),
    ] {
        Answer::of(server.anonymous().request(method, path)).await.problem(405);
    }
    let wrong = client.call(Method::PUT, "/apps", None).await;
    wrong.problem(405);
    assert!(
        wrong.header("allow").contains("GET") && wrong.header("allow").contains("POST"),
        "{:?}",
        wrong.headers
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn writes_by_cookie_must_come_from_our_own_pages(pool: PgPool) {
    let server = Server::start(pool).await;
    let cookie = a_session(&server).await;
    let client = server.anonymous().with("cookie", &cookie);
    let own = format!("http://{}", server.address);
    client.get("/apps").await.ok(200);
    let new = json!({"name": "Shop"});
    for (name, value) in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://evil.test"),
        ("origin", "null"),
        ("x-nothing", "no origin at all"),
    ] {
        client.clone().with(name, value).post("/apps", new.clone()).await.problem(403);
        // A forged origin does not override what the browser says.
        let both = client.clone().with("origin", &own).with("sec-fetch-site", "cross-site");
        both.post("/apps", new.clone()).await.problem(403);
    }
    for (name, value) in
        [("sec-fetch-site", "same-origin"), ("sec-fetch-site", "none"), ("origin", own.as_str())]
    {
        client.clone().with(name, value).post("/apps", new.clone()).await.ok(201);
    }
    // No browser sends a key by itself.
    server.operator().with("origin", "https://evil.test").post("/apps", new).await.ok(201);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_request_uses_one_credential(pool: PgPool) {
    let server = Server::start(pool).await;
    let cookie = a_session(&server).await;
    server.anonymous().with("cookie", &cookie).with_key("nonsense").get("/apps").await.problem(401);
    server.anonymous().with("authorization", "Basic YTpi").get("/apps").await.problem(401);
    server.anonymous().with("cookie", "headgate=nonsense").get("/apps").await.problem(401);
    // Over https the cookie has another name, and this one is ignored.
    let https = server.anonymous().with("cookie", &cookie).with("x-forwarded-proto", "https");
    https.get("/apps").await.problem(401);
    let host = cookie.replacen("headgate=", "__Host-headgate=", 1);
    server.anonymous().with("cookie", &host).with("x-forwarded-proto", "https").get("/apps").await.ok(200);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_client_that_hangs_up_cancels_nothing(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool.clone()).await;
    // A lock blocks the write until its client is gone.
    let mut lock = pool.begin().await.unwrap();
    sqlx::query("select id from headgate.apps for update").fetch_all(&mut *lock).await.unwrap();
    let request = client
        .request(Method::PATCH, &format!("/api/v1/apps/{app}"))
        .header("content-type", "application/json")
        .body(json!({"name": "Renamed"}).to_string());
    let call = tokio::spawn(request.send());
    loop {
        let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
        let waiting: i64 = sqlx::query_scalar(waiting).fetch_one(&pool).await.unwrap();
        if waiting > 0 {
            break;
        }
        tokio::task::yield_now().await;
    }
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    lock.rollback().await.unwrap();
    // The write is done although nobody waits for its answer.
    client.until(&format!("/apps/{app}"), |app| app["name"] == "Renamed").await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_api_works_below_a_prefix(pool: PgPool) {
    let server = Server::below(pool, "/gate").await;
    let get = async |path: &str| Answer::of(server.operator().request(Method::GET, path)).await;
    get("/gate/api/v1/apps").await.ok(200);
    assert_eq!(get("/gate/api/docs").await.status, 200);
    get("/gate/api/v1/nonsense").await.problem(404);
    get("/api/v1/apps").await.problem(404);
}
