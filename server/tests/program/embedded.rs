//! With the embedded database: it is started, restarted, used by other commands, and stopped.

use crate::support::{ADMIN_KEY, Api, Program, eventually, run};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use reqwest::StatusCode;
use std::{path::PathBuf, time::Duration};

const TIMEOUT: Duration = Duration::from_secs(90);

/// A directory an unprivileged user can enter, because root's database runs as one.
fn data_dir() -> PathBuf {
    std::env::temp_dir().join(format!("hg-{}", uuid::Uuid::now_v7().simple()))
}

async fn is_ready(url: &str) -> Option<()> {
    let response = reqwest::Client::builder()
        .no_proxy()
        .build()
        .unwrap()
        .get(format!("{url}/readyz"))
        .send()
        .await
        .ok()?;
    (response.status() == StatusCode::OK).then_some(())
}

#[tokio::test]
async fn the_embedded_database_is_restarted_and_serves_other_commands() {
    let dir = data_dir();
    let dir_text = dir.to_str().unwrap();
    let environment = [("HEADGATE_DATA_DIR", dir_text), ("HEADGATE_ADMIN_API_KEY", ADMIN_KEY)];
    let program = Program::start(&["serve"], &environment).await;
    let api = Api::new(&program.url, ADMIN_KEY);
    api.app("books").await;

    let import = ["import", "records", "--app", "books", "--record-type", "book", "--format", "csv"];
    let output = run(&import, &[("HEADGATE_DATA_DIR", dir_text)], "id,title\n1,One\n2,Two\n").await;
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert_eq!(api.get("/records?record_type=book").await["items"].as_array().unwrap().len(), 2);

    let second = run(&["serve", "--listen", "127.0.0.1:0"], &environment, "").await;
    assert_eq!(second.code, Some(1));
    assert!(second.err.lines().last().unwrap().contains("already runs the database in"), "{}", second.err);

    let pid_file = std::fs::read_to_string(dir.join("postgres/data/postmaster.pid")).unwrap();
    let postmaster: i32 = pid_file.lines().next().unwrap().parse().unwrap();
    kill(Pid::from_raw(postmaster), Signal::SIGKILL).unwrap();
    eventually("another database process runs", TIMEOUT, async || {
        let pid_file = std::fs::read_to_string(dir.join("postgres/data/postmaster.pid")).ok()?;
        (pid_file.lines().next()? != postmaster.to_string() && pid_file.contains("ready")).then_some(())
    })
    .await;
    eventually("it is ready again", TIMEOUT, async || is_ready(&program.url).await).await;
    assert_eq!(api.get("/records?record_type=book").await["items"].as_array().unwrap().len(), 2);
    assert_eq!(program.stop().await, Some(0));
    assert!(!dir.join("postgres/data/postmaster.pid").exists(), "shut down cleanly");

    // No process runs it now, so the command starts it itself.
    let export = run(&["export", "records", "--format", "csv"], &[("HEADGATE_DATA_DIR", dir_text)], "").await;
    assert_eq!(export.code, Some(0), "{}", export.err);
    assert_eq!(export.out.lines().count(), 3, "{}", export.out);
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn a_worker_without_a_server_explains_what_is_missing() {
    let dir = data_dir();
    let output = run(&["worker"], &[("HEADGATE_DATA_DIR", dir.to_str().unwrap())], "").await;
    assert_eq!(output.code, Some(1));
    assert!(
        output.err.contains("start `headgate serve` there, or set HEADGATE_DATABASE_URL"),
        "{}",
        output.err
    );
    assert!(!dir.exists(), "nothing was created");
}

#[tokio::test]
async fn the_demo_delivers_within_seconds_and_starts_twice_on_the_same_data() {
    let dir = data_dir();
    let environment = [("HEADGATE_DATA_DIR", dir.to_str().unwrap()), ("HEADGATE_ADMIN_API_KEY", ADMIN_KEY)];
    for _ in 0..2 {
        let program = Program::start(&["demo"], &environment).await;
        assert!(program.sign_in.is_some());
        let api = Api::new(&program.url, ADMIN_KEY);
        assert_eq!(api.get("/apps").await["items"].as_array().unwrap().len(), 3);
        let integrations = api.get("/integrations?limit=100").await["items"].as_array().unwrap().clone();
        // Without the built-in integration of each app.
        let receiving =
            integrations.iter().filter(|integration| integration["integration_type"] != "external");
        assert_eq!(receiving.count(), 8);
        eventually("something was delivered, something fails", TIMEOUT, async || {
            let totals = api.get("/stats/overview").await["totals"].clone();
            let delivers = totals["delivered_per_minute"].as_i64() > Some(0);
            let fails =
                totals["dead_letters"].as_i64() > Some(0) && totals["to_be_retried"].as_i64() > Some(0);
            (delivers && fails).then_some(())
        })
        .await;
        assert_eq!(program.stop().await, Some(0));
    }
    std::fs::remove_dir_all(dir).unwrap();
}
