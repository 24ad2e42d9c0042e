//! Start, readiness, metrics and shutdown, also while the database is away.

use crate::support::{Api, Behaviour, Database, Output, Program, Receiver, eventually, headgate, run};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::{process::Stdio, time::Duration};
use tokio::io::{AsyncBufReadExt as _, BufReader};

const TIMEOUT: Duration = Duration::from_secs(60);

async fn get(url: &str) -> (StatusCode, String) {
    let response = reqwest::Client::builder().no_proxy().build().unwrap().get(url).send().await.unwrap();
    (response.status(), response.text().await.unwrap())
}

#[tokio::test]
async fn a_program_becomes_ready_prints_its_url_and_stops_in_order() {
    let database = Database::create().await;
    let program = Program::serve(&database, &[]).await;
    let link = program.sign_in.clone().expect("a link while nobody can sign in");
    assert!(link.starts_with(&format!("{}/sign-in/link/", program.url)), "{link}");
    assert_eq!(get(&format!("{}/healthz", program.url)).await, (StatusCode::OK, "ok\n".to_owned()));
    let (status, body) = get(&format!("{}/readyz", program.url)).await;
    let readiness: Value = serde_json::from_str(&body).unwrap();
    // In the first second there may be no snapshot yet.
    assert!(status == StatusCode::OK && readiness["status"] != "not_ready", "{body}");
    assert_eq!(readiness["checks"]["migrations"], json!({"state": "ok", "detail": "applied"}));
    let (status, metrics) = get(&format!("{}/metrics", program.url)).await;
    assert_eq!(status, StatusCode::OK);
    assert!(metrics.contains("headgate_build_info{version="), "{metrics}");
    assert_eq!(program.stop().await, Some(0));
    database.drop().await;
}

#[tokio::test]
async fn a_port_in_use_is_reported_in_one_line() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let Output { code, err, .. } = run(&["serve", "--listen", &address], &[], "").await;
    assert_eq!(code, Some(1));
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(
        err.contains(&format!("HEADGATE_LISTEN={address}: another program listens there already")),
        "{err}"
    );
}

#[tokio::test]
async fn an_unreachable_database_is_reported_in_one_line() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://me:hunter2@{}/x", free.local_addr().unwrap());
    drop(free);
    let Output { code, err, .. } = run(&["migrate"], &[("HEADGATE_DATABASE_URL", &url)], "").await;
    assert_eq!((code, err.lines().count()), (Some(1), 1), "{err}");
    assert!(
        err.contains("HEADGATE_DATABASE_URL") && err.contains("refused") && !err.contains("hunter2"),
        "{err}"
    );
}

#[tokio::test]
async fn a_missing_role_or_database_is_reported_with_what_to_do() {
    let database = Database::create().await;
    let refused = async |url: &str, words: &str| {
        let Output { code, err, .. } = run(&["migrate"], &[("HEADGATE_DATABASE_URL", url)], "").await;
        assert_eq!((code, err.lines().count()), (Some(1), 1), "{err}");
        assert!(err.contains(words), "{err}");
    };
    let url = database.url().to_owned();
    refused(&format!("{url}&user=stranger"), "create that role if it is missing (`createuser stranger`)")
        .await;
    database.drop().await;
    refused(&url, "does not exist: create it (`createdb program_").await;
}

#[tokio::test]
async fn a_signal_ends_the_start_while_it_waits_for_the_database() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://me@{}/x", free.local_addr().unwrap());
    drop(free);
    let mut worker = headgate(&["worker"])
        .envs([("HEADGATE_DATABASE_URL", url.as_str()), ("HEADGATE_LOG", "debug")])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(worker.stderr.take().unwrap()).lines();
    while let Some(line) = log.next_line().await.unwrap() {
        if line.contains("waiting for the database") {
            break;
        }
    }
    kill(Pid::from_raw(worker.id().unwrap().cast_signed()), Signal::SIGTERM).unwrap();
    // When the time to wait is over, the code is 1.
    assert_eq!(worker.wait().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn an_external_database_needs_a_master_key() {
    let database = Database::create().await;
    let Output { code, err, .. } =
        run(&["serve", "--listen", "127.0.0.1:0"], &[("DATABASE_URL", database.url())], "").await;
    assert_eq!(code, Some(2), "{err}");
    assert!(err.lines().last().unwrap().contains("HEADGATE_MASTER_KEY is not set"), "{err}");
    database.drop().await;
}

#[tokio::test]
async fn a_wrong_master_key_prevents_the_start_with_one_line() {
    let database = Database::create().await;
    let program = Program::serve(&database, &[("HEADGATE_WORKERS", "0")]).await;
    let app = program.api().app("shop").await;
    program.api().webhook(&app, "Search", "http://127.0.0.1:9/", json!({})).await;
    assert_eq!(program.stop().await, Some(0));
    let other = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let environment = [("HEADGATE_DATABASE_URL", database.url()), ("HEADGATE_MASTER_KEY", other)];
    for command in
        [&["serve", "--listen", "127.0.0.1:0"][..], &["demo", "--listen", "127.0.0.1:0"], &["worker"]]
    {
        let Output { code, out, err } = run(command, &environment, "").await;
        assert_eq!((code, out.as_str()), (Some(2), ""), "{command:?}: {err}");
        let errors: Vec<&str> = err.lines().filter(|line| line.starts_with("headgate: ")).collect();
        assert!(errors.len() == 1 && errors[0].contains("HEADGATE_MASTER_KEY"), "{command:?}: {err}");
        assert!(!err.contains(other));
    }
    let program = Program::serve(&database, &[("HEADGATE_WORKERS", "0")]).await;
    assert_eq!(program.stop().await, Some(0), "with the right key it starts again");
    database.drop().await;
}

#[tokio::test]
async fn everything_is_below_the_mount_prefix() {
    let database = Database::create().await;
    let program = Program::serve(&database, &[("HEADGATE_BASE_PATH", "/gate/")]).await;
    assert!(program.url.ends_with("/gate"), "{}", program.url);
    let root = program.url.strip_suffix("/gate").unwrap();
    assert_eq!(get(&format!("{}/healthz", program.url)).await.0, StatusCode::OK);
    assert_eq!(get(&format!("{root}/healthz")).await.0, StatusCode::OK, "probes at the root");
    assert_eq!(program.api().get("/apps").await["items"], json!([]));
    assert_eq!(get(&format!("{root}/api/v1/apps")).await.0, StatusCode::NOT_FOUND);
    let client =
        reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let page = client.get(format!("{}/jobs", program.url)).send().await.unwrap();
    assert_eq!(page.headers()["location"], "/gate/sign-in?next=%2Fjobs");

    let to_console = client.get(format!("{root}/")).send().await.unwrap();
    assert_eq!(to_console.headers()["location"], "/gate/");
    let link = program.sign_in.as_ref().unwrap();
    let signed_in = client.get(link).send().await.unwrap();
    let cookie = signed_in.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    for slash in ["", "/", "/?window=1h"] {
        let address = format!("{}{slash}", program.url);
        let anonymous = client.get(&address).send().await.unwrap();
        assert!(anonymous.headers()["location"].to_str().unwrap().starts_with("/gate/sign-in"), "{address}");
        let overview = client.get(&address).header("cookie", &cookie).send().await.unwrap();
        assert_eq!(overview.status(), StatusCode::OK, "{address}");
        assert!(overview.text().await.unwrap().contains("<title>Overview"), "{address}");
    }
    assert_eq!(program.stop().await, Some(0));
    database.drop().await;
}

#[tokio::test]
async fn a_second_signal_ends_at_once() {
    let database = Database::create().await;
    let receiver = hanging().await;
    let mut program = Program::serve(&database, &[("HEADGATE_SHUTDOWN_GRACE", "1h")]).await;
    let api = program.api();
    let app = api.app("a").await;
    let integration = api.webhook(&app, "hangs", &receiver, json!({"timeout_ms": 600_000})).await;
    api.post("/jobs", &json!({"integration_id": integration, "job_type": "wait", "payload": {}})).await;
    eventually("the job is being processed", TIMEOUT, async || {
        (api.get(&format!("/integrations/{integration}/status")).await["processing"] == 1).then_some(())
    })
    .await;
    program.signal(Signal::SIGTERM);
    let readyz = format!("{}/readyz", program.url);
    eventually("readiness fails", TIMEOUT, async || {
        (get(&readyz).await.0 == StatusCode::SERVICE_UNAVAILABLE).then_some(())
    })
    .await;
    program.signal(Signal::SIGINT);
    assert_eq!(program.ended().await, Some(130));
    database.drop().await;
}

/// Takes connections and never answers.
async fn hanging() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((connection, _)) = listener.accept().await {
            open.push(connection);
        }
    });
    url
}

#[tokio::test]
async fn without_database_the_api_is_503_and_nothing_is_lost() {
    let database = Database::create().await;
    let receiver = Receiver::start(Behaviour::AlwaysOk).await;
    let proxy = database.behind_a_proxy().await;
    let environment = [("HEADGATE_DATABASE_URL", proxy.url.as_str()), ("HEADGATE_POLL_INTERVAL", "200ms")];
    let program = Program::serve(&database, &environment).await;
    let api = program.api();
    let app = api.app("a").await;
    let integration = api.webhook(&app, "shop", &receiver.url, json!({})).await;
    let event = |id: &str| json!({"app_id": app, "type": "record.updated", "record_type": "product", "record_id": id, "attributes": {"n": 1}});
    api.post("/events", &event("before")).await;
    in_sync(&api, &integration).await;

    proxy.set_on(false);
    let refused = eventually("the API answers 503", TIMEOUT, async || {
        let response = api.send(Method::POST, "/events", Some(&event("during"))).await;
        (response.status() == StatusCode::SERVICE_UNAVAILABLE).then_some(response)
    })
    .await;
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(get(&format!("{}/healthz", program.url)).await.0, StatusCode::OK);
    assert_eq!(get(&format!("{}/readyz", program.url)).await.0, StatusCode::SERVICE_UNAVAILABLE);

    proxy.set_on(true);
    eventually("it is ready again", TIMEOUT, async || {
        (get(&format!("{}/readyz", program.url)).await.0 == StatusCode::OK).then_some(())
    })
    .await;
    api.post("/events", &event("after")).await;
    in_sync(&api, &integration).await;
    let copy = receiver.copy();
    assert!(copy.contains_key("before") && copy.contains_key("after"), "{:?}", copy.keys());
    assert_eq!(program.stop().await, Some(0));
    database.drop().await;
}

async fn in_sync(api: &Api, integration: &str) {
    eventually("everything is delivered", TIMEOUT, async || {
        let status = api.get(&format!("/integrations/{integration}/status")).await;
        (status["sync_state"] == "in_sync" && status["records_in_sync"] == status["records_total"])
            .then_some(())
    })
    .await;
}
