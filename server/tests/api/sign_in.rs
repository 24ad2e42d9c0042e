use crate::support::{Answer, Server};
use reqwest::Method;
use serde_json::json;
use sqlx::PgPool;

/// The cookie of an answer, as it is sent back.
fn cookie(answer: &Answer) -> String {
    answer.header("set-cookie").split(';').next().unwrap().to_owned()
}

async fn an_operator(server: &Server) {
    let new = json!({"email": "ada@example.test", "role": "operator", "password": "correct horse"});
    server.operator().post("/users", new).await.ok(201);
}

const CREDENTIALS: &str = "email=ada%40example.test&password=correct+horse";

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn forms_sign_in_and_out(pool: PgPool) {
    let server = Server::start(pool).await;
    an_operator(&server).await;
    let signed_in = server.anonymous().form("/sign-in", format!("{CREDENTIALS}&next=%2Fjobs%3Fq%3D1")).await;
    assert_eq!((signed_in.status, signed_in.header("location")), (303, "./jobs?q=1"));
    let set = signed_in.header("set-cookie");
    for part in ["HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains("Secure") && set.starts_with("headgate="), "{set}");
    let own = format!("http://{}", server.address);
    let session = server.anonymous().with("cookie", &cookie(&signed_in)).with("origin", &own);
    session.get("/users").await.ok(200);
    let signed_out = session.form("/sign-out", "").await;
    assert_eq!((signed_out.status, signed_out.header("location")), (303, "sign-in"));
    assert!(signed_out.header("set-cookie").contains("Max-Age=0"), "{}", signed_out.header("set-cookie"));
    session.get("/users").await.problem(401);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn signing_in_ends_the_previous_session(pool: PgPool) {
    let server = Server::start(pool).await;
    an_operator(&server).await;
    let own = format!("http://{}", server.address);
    let by = |answer: &Answer| server.anonymous().with("cookie", &cookie(answer)).with("origin", &own);
    let first = by(&server.anonymous().form("/sign-in", CREDENTIALS).await);
    first.form("/sign-in", "email=ada%40example.test&password=wrong").await;
    first.get("/users").await.ok(200);
    let second = by(&first.form("/sign-in", CREDENTIALS).await);
    first.get("/users").await.problem(401);
    second.get("/users").await.ok(200);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn over_https_the_cookie_is_bound_to_the_host(pool: PgPool) {
    let server = Server::start(pool).await;
    an_operator(&server).await;
    let client = server.anonymous().with("x-forwarded-proto", "https");
    let signed_in = client.form("/sign-in", CREDENTIALS).await;
    let set = signed_in.header("set-cookie");
    assert!(
        set.starts_with("__Host-headgate=") && set.contains("Secure") && !set.contains("Domain"),
        "{set}"
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn wrong_passwords_lead_back_to_the_form_and_are_limited(pool: PgPool) {
    let server = Server::start(pool).await;
    an_operator(&server).await;
    let client = server.anonymous();
    for _ in 0..10 {
        let refused = client.form("/sign-in", "email=ada%40example.test&password=wrong+horse").await;
        assert_eq!(refused.status, 303);
        assert!(refused.header("location").starts_with("sign-in?error=credentials"));
        assert_eq!(refused.header("set-cookie"), "");
    }
    let refused = client.form("/sign-in", CREDENTIALS).await;
    assert!(refused.header("location").contains("error=too-many"), "{}", refused.header("location"));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn guessing_locks_out_neither_other_networks_nor_known_devices(pool: PgPool) {
    let server = Server::start(pool).await;
    an_operator(&server).await;
    let from = |address: &str| server.anonymous().with("x-forwarded-for", address);
    let signed_in = from("203.0.113.9").form("/sign-in", CREDENTIALS).await;
    let mut cookies = signed_in.headers.get_all("set-cookie").iter().map(|cookie| cookie.to_str().unwrap());
    let device = cookies.find(|cookie| cookie.starts_with("headgate-device=")).unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Max-Age="] {
        assert!(device.contains(part), "{device}");
    }
    let known = from("203.0.113.7").with("cookie", device.split(';').next().unwrap());
    for _ in 0..12 {
        from("203.0.113.7").form("/sign-in", "email=ada%40example.test&password=wrong+horse").await;
    }
    let refused = from("203.0.113.8").form("/sign-in", CREDENTIALS).await;
    assert!(refused.header("location").contains("error=too-many"), "{}", refused.header("location"));
    for client in [from("198.51.100.1"), known] {
        assert_eq!(client.form("/sign-in", CREDENTIALS).await.header("location"), "./");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn other_sites_cannot_sign_anybody_in(pool: PgPool) {
    let server = Server::start(pool).await;
    an_operator(&server).await;
    let client = server.anonymous().with("origin", "https://evil.test");
    client.form("/sign-in", CREDENTIALS).await.problem(403);
    let signed_in =
        server.anonymous().form("/sign-in", format!("{CREDENTIALS}&next=https%3A%2F%2Fevil.test")).await;
    assert_eq!(signed_in.header("location"), "./");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_link_signs_in_once_and_previews_do_not_use_it_up(pool: PgPool) {
    let server = Server::start(pool).await;
    let token = server.state.headgate.access().one_time_link().await.unwrap().unwrap();
    let path = format!("/sign-in/link/{token}");
    let preview = server.anonymous().with("user-agent", "Slackbot-LinkExpanding 1.0").open(&path).await;
    assert_eq!((preview.status, preview.header("set-cookie")), (200, ""));
    assert!(preview.text.contains("<form method=\"post\">"));
    let head = Answer::of(server.anonymous().request(Method::HEAD, &path)).await;
    assert_eq!(head.header("set-cookie"), "");
    let opened = server.anonymous().open(&path).await;
    assert_eq!((opened.status, opened.header("location")), (303, "../.."));
    assert_eq!(
        (opened.header("cache-control"), opened.header("referrer-policy")),
        ("no-store", "no-referrer")
    );
    let session = server.anonymous().with("cookie", &cookie(&opened));
    session.get("/users").await.ok(200);
    let again = server.anonymous().open(&path).await;
    assert_eq!(again.header("location"), "../../sign-in?error=link");
    // Somebody who is signed in stays signed in.
    assert_eq!(session.open(&path).await.header("location"), "../..");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_form_of_the_link_signs_in_too(pool: PgPool) {
    let server = Server::start(pool).await;
    let token = server.state.headgate.access().one_time_link().await.unwrap().unwrap();
    let pressed = server.anonymous().form(&format!("/sign-in/link/{token}"), "").await;
    assert_eq!(pressed.status, 303);
    server.anonymous().with("cookie", &cookie(&pressed)).get("/apps").await.ok(200);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn invalid_requests_are_problems_here_too(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.anonymous();
    let refused = client.form("/sign-in", "email=ada%40example.test").await;
    assert!(refused.problem(422)["errors"][0]["detail"].as_str().unwrap().contains("password"));
    let json = client.request(Method::POST, "/sign-in").header("content-type", "application/json");
    Answer::of(json.body("{}")).await.problem(415);
    client.open("/sign-in/link/%ff").await.problem(404);
}
