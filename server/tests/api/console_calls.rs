//! The console's server functions are public endpoints: these rules apply to all of them.

use crate::support::{Answer, Client, Server, an_app};
use app::calls::error::{CallError, FormRefused};
use leptos::server_fn;
use model::actor::Role;
use reqwest::{Method, StatusCode};
use sqlx::PgPool;

/// Arguments of all calls together; each call ignores those of others.
const ARGUMENTS: &str = "id=01890a5d-ac96-774b-bcce-b302099a8057&back=%2Fjobs&query=&q=x&window=24h&is_counted=true&is_pinned=true\
    &subject=jobs&step=pause&mode=full&mark=fix&fingerprint=0123456789abcdef&theme=dark&payload=%7B%7D\
    &email=eve%40example.test&name=Eve&role=support&password=correct+horse+battery&limits[max_concurrency]=5\
    &bulk[action]=pause&bulk[query]=&bulk[matched]=1";

const THEME: &str = "/console/theme";
const FORGET_NEW_KEY: &str = "/console/forget-new-key";

/// Every call with plausible arguments.
fn calls() -> Vec<(&'static str, Method, String)> {
    let calls: Vec<_> = server_fn::axum::server_fn_paths()
        .map(|(path, method)| {
            let action = if path == "/console/steer-breaker" { "probe" } else { "cancel" };
            (path, method, format!("{ARGUMENTS}&action={action}"))
        })
        .collect();
    assert!(calls.len() >= 57, "{calls:?}");
    calls
}

async fn call(client: &Client, path: &str, method: &Method, arguments: impl Into<Vec<u8>>) -> Answer {
    let arguments = arguments.into();
    if *method == Method::GET {
        let query = String::from_utf8_lossy(&arguments);
        return client.open(&format!("{path}?{query}")).await;
    }
    client.form(path, arguments).await
}

/// The refusal as the console's script reads it.
fn refusal_of(answer: &Answer, method: &Method) -> CallError {
    if *method == Method::GET {
        serde_json::from_str(&answer.text).unwrap()
    } else {
        serde_json::from_str::<FormRefused>(&answer.text).unwrap().because
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn clients_without_session_are_refused_before_arguments_are_read(pool: PgPool) {
    let server = Server::start(pool).await;
    let anonymous = server.anonymous();
    let app = an_app(&server.operator(), "Shop").await;
    let portal = server.key(Role::Portal, Some(&app)).await;
    for (path, method, arguments) in calls() {
        for client in [&anonymous, &portal] {
            for arguments in [arguments.as_str(), "", "nonsense"] {
                let answer = call(client, path, &method, arguments).await;
                if path == THEME {
                    assert_ne!(answer.status, 401);
                    continue;
                }
                assert_eq!(answer.status, 401, "{path}: {}", answer.text);
                assert_eq!(refusal_of(&answer, &method), CallError::SignedOut, "{path}");
            }
        }
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn no_call_redirects_to_the_referer(pool: PgPool) {
    let server = Server::start(pool).await;
    let ada = server.person("ada", Role::Operator).await;
    for client in [server.anonymous(), ada] {
        let client = client.with("accept", "text/html").with("referer", "https://evil.test/");
        for (path, method, arguments) in calls() {
            for arguments in [arguments.as_str(), "nonsense"] {
                let answer = call(&client, path, &method, arguments).await;
                let location = answer.header("location");
                if method == Method::GET || arguments == "nonsense" && path == THEME {
                    assert_eq!(location, "", "{path}");
                    assert!(!StatusCode::from_u16(answer.status).unwrap().is_redirection(), "{path}");
                } else if !location.is_empty() {
                    assert_eq!(answer.status, 303, "{path}");
                    assert!(location.starts_with("/jobs") || location == "/sign-in", "{path}: {location}");
                }
            }
        }
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_form_without_a_session_leads_to_its_page_with_a_notice(pool: PgPool) {
    let server = Server::start(pool).await;
    let anonymous = server.anonymous();
    let form = "id=01890a5d-ac96-774b-bcce-b302099a8057&back=%2Fjobs%3Fconfirm%3Dcancel";
    let answer = call(&anonymous, "/console/cancel-job", &Method::POST, form).await;
    let refused: FormRefused = serde_json::from_str(&answer.text).unwrap();
    assert_eq!(
        refused,
        FormRefused { because: CallError::SignedOut, page: "/jobs?notice=signed-out".to_owned() }
    );
    let without_javascript = anonymous.with("accept", "text/html");
    let answer = call(&without_javascript, "/console/cancel-job", &Method::POST, form).await;
    assert_eq!((answer.status, answer.header("location")), (303, "/jobs?notice=signed-out"));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn invalid_arguments_are_422(pool: PgPool) {
    let server = Server::start(pool).await;
    let ada = server.person("ada", Role::Operator).await;
    let takes_none = [
        "/console/session",
        "/console/saved-views",
        "/console/nav-counts",
        "/console/workers",
        FORGET_NEW_KEY,
    ];
    for (path, method, _) in calls() {
        let answer = call(&ada, path, &method, "").await;
        if takes_none.contains(&path) {
            assert_eq!(answer.status, 200, "{path}: {}", answer.text);
            continue;
        }
        assert_eq!(answer.status, 422, "{path}: {}", answer.text);
        let CallError::Invalid(fault) = refusal_of(&answer, &method) else {
            panic!("{path}: {}", answer.text)
        };
        assert!(fault.contains("missing field"), "{path}: {fault}");
        if method == Method::POST {
            assert_eq!(call(&ada, path, &method, [0xff, 0xfe]).await.status, 422, "{path}");
        }
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_role_that_only_reads_cannot_change_anything(pool: PgPool) {
    let server = Server::start(pool).await;
    let ada = server.person("ada", Role::Auditor).await;
    let own_settings = [THEME, FORGET_NEW_KEY, "/console/job-columns"];
    for (path, method, arguments) in calls() {
        let answer = call(&ada, path, &method, arguments).await;
        if method == Method::GET {
            assert!(
                matches!(answer.status, 200 | 403 | 404 | 422),
                "{path}: {} {}",
                answer.status,
                answer.text
            );
        } else if own_settings.contains(&path) {
            assert_eq!(answer.status, 200, "{path}");
        } else {
            assert_eq!(answer.status, 403, "{path}: {}", answer.text);
            let refused: FormRefused = serde_json::from_str(&answer.text).unwrap();
            assert_eq!(refused.because, CallError::Forbidden, "{path}");
            assert_eq!(refused.page, "/jobs?notice=forbidden", "{path}");
        }
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn no_call_fails_with_an_internal_error(pool: PgPool) {
    let server = Server::start(pool).await;
    let ada = server.person("ada", Role::Operator).await;
    let mut seen = Vec::new();
    for (path, method, arguments) in calls() {
        let answer = call(&ada, path, &method, arguments).await;
        assert!(matches!(answer.status, 200 | 404 | 409 | 422), "{path}: {} {}", answer.status, answer.text);
        if answer.status != 200 {
            assert_eq!(refusal_of(&answer, &method).status(), answer.status, "{path}");
            seen.push(answer.status);
        }
    }
    assert!(seen.contains(&404), "{seen:?}");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn going_back_leads_to_a_page_of_this_site_or_to_the_overview(pool: PgPool) {
    let server = Server::below(pool, "/gate").await;
    for (back, location) in [
        ("%2Fjobs%3Fq%3D1", "/gate/jobs?q=1"),
        ("%2F%09%2Fevil.test", "/gate/"),
        ("%2F%2Fevil.test", "/gate/"),
        ("%2F%0B%2Fevil.test", "/gate/"),
        ("%2F%C3%BC", "/gate/"),
        ("%2F%00", "/gate/"),
    ] {
        let form = server.anonymous().with("accept", "text/html");
        let answer =
            call(&form, "/gate/console/theme", &Method::POST, format!("theme=dark&back={back}")).await;
        assert_eq!((answer.status, answer.header("location")), (303, location), "{back}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_session_that_cannot_be_looked_up_is_not_signed_out(pool: PgPool) {
    let server = Server::start(pool.clone()).await;
    let ada = server.person("ada", Role::Operator).await;
    // Under load the lookup of one session may fail while the database answers others.
    sqlx::query("alter table headgate.sessions rename to sessions_away").execute(&pool).await.unwrap();
    for page in ["/", "/jobs", "/workers"] {
        let answer = Answer::of(ada.request(Method::GET, page).header("accept", "text/html")).await;
        assert_eq!((answer.status, answer.header("location")), (503, ""), "{page}");
        assert!(!answer.header("retry-after").is_empty(), "{page}");
    }
    for (path, method, arguments) in calls().into_iter().filter(|(path, ..)| *path != THEME) {
        let answer = call(&ada, path, &method, arguments).await;
        assert_eq!(answer.status, 503, "{path}: {}", answer.text);
        assert!(!answer.header("retry-after").is_empty(), "{path}");
    }
    sqlx::query("alter table headgate.sessions_away rename to sessions").execute(&pool).await.unwrap();
    let answer = Answer::of(ada.request(Method::GET, "/jobs").header("accept", "text/html")).await;
    assert_eq!(answer.status, 200);
}
