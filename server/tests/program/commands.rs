//! The commands migrate, import, export and admin.

use crate::support::{Api, Behaviour, Database, Program, Receiver, eventually, headgate, run};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::{Connection as _, Executor as _, PgConnection};
use std::{process::Stdio, time::Duration};
use tokio::io::AsyncWriteExt as _;

#[tokio::test]
async fn migrate_says_where_it_installs_and_what_it_finds() {
    let database = Database::create().await;
    let mut connection = PgConnection::connect(database.url()).await.unwrap();
    connection.execute("create table public.orders (id int)").await.unwrap();
    let migrate = async || {
        let output = run(&["migrate"], &[("HEADGATE_DATABASE_URL", database.url())], "").await;
        assert_eq!(output.code, Some(0), "{}", output.err);
        output.err
    };
    let log = migrate().await;
    assert!(log.contains("has tables of other programs"), "{log}");
    assert!(log.contains("installed Headgate in the schema headgate of the database program_"), "{log}");
    let log = migrate().await;
    assert!(log.contains("is up to date, at migration "), "{log}");
    let tomorrow =
        "insert into public._sqlx_migrations (version, description, success, checksum, execution_time)
        values (9999, 'tomorrow', true, '', 0)";
    connection.execute(tomorrow).await.unwrap();
    let log = migrate().await;
    assert!(log.contains("is at migration 9999, newer than this program's "), "{log}");
    database.drop().await;
}

#[tokio::test]
async fn rejects_are_listed_by_line_and_the_rest_is_imported() {
    let database = Database::create().await;
    let program = Program::serve(&database, &[("HEADGATE_WORKERS", "0")]).await;
    let api = program.api();
    api.app("shop").await;
    let environment = [("HEADGATE_DATABASE_URL", database.url())];
    let import = |more: &'static [&'static str]| {
        let base = ["import", "records", "--app", "shop", "--record-type", "product", "--format", "jsonl"];
        [&base[..], more].concat()
    };
    let lines =
        "{\"id\":\"a\",\"n\":1}\nnonsense\n{\"id\":\"b\",\"n\":{\"deep\":[1,2]}}\n{\"name\":\"no id\"}\n";
    let output = run(&import(&[]), &environment, lines).await;
    assert_eq!(output.code, Some(3), "{}", output.err);
    assert!(output.err.contains("headgate: line 2: is not JSON"), "{}", output.err);
    assert!(output.err.contains("headgate: line 4: there is no field id"), "{}", output.err);
    assert!(
        output.err.contains("4 records read")
            && output.err.contains("2 changed")
            && output.err.contains("2 left out")
    );

    let again = run(
        &import(&["--skip", "2"]),
        &environment,
        "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\",\"n\":1}\n",
    )
    .await;
    assert_eq!(again.code, Some(0), "{}", again.err);
    let records = api.get("/records?record_type=product").await;
    let ids: Vec<_> =
        records["items"].as_array().unwrap().iter().map(|record| record["record_id"].clone()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!(records["items"][0]["attributes"]["n"], 1, "skipped records were not imported");

    let unknown = run(
        &["import", "records", "--app", "nobody", "--record-type", "x", "--format", "csv"],
        &environment,
        "",
    )
    .await;
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.err.lines().last().unwrap().contains("--app nobody: there is no app"), "{}", unknown.err);
    assert_eq!(program.stop().await, Some(0));
    database.drop().await;
}

#[tokio::test]
async fn an_import_creates_jobs_with_the_deployments_attempts() {
    let database = Database::create().await;
    let program = Program::serve(&database, &[("HEADGATE_WORKERS", "0")]).await;
    let api = program.api();
    let app = api.app("shop").await;
    let integration = api.webhook(&app, "shop", "http://127.0.0.1:9/", json!({})).await;
    let environment = [("HEADGATE_DATABASE_URL", database.url()), ("HEADGATE_MAX_ATTEMPTS", "3")];
    let import = ["import", "records", "--app", "shop", "--record-type", "product", "--format", "jsonl"];
    let output = run(&import, &environment, "{\"id\":\"a\",\"n\":1}\n").await;
    assert_eq!(output.code, Some(0), "{}", output.err);
    let jobs = api.get(&format!("/jobs?integration_id={integration}")).await;
    assert_eq!(jobs["items"][0]["max_attempts"], 3);
    assert_eq!(program.stop().await, Some(0));
    database.drop().await;
}

#[tokio::test]
async fn an_interrupted_import_prints_how_to_continue() {
    let database = Database::create().await;
    let program = Program::serve(&database, &[("HEADGATE_WORKERS", "0")]).await;
    let api = program.api();
    let app_id = api.app("shop").await;
    let mut import =
        headgate(&["import", "records", "--app", "shop", "--record-type", "product", "--format", "jsonl"])
            .env("HEADGATE_DATABASE_URL", database.url())
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
    // One and a half batches, and the input does not end.
    let lines: String = (0..750).map(|n| format!("{{\"id\":\"{n}\"}}\n")).collect();
    let mut input = import.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).await.unwrap();
    eventually("the first batch is stored", Duration::from_secs(60), || async {
        let records = api.get(&format!("/records?app_id={app_id}&limit=500")).await;
        (records["items"].as_array().unwrap().len() == 500).then_some(())
    })
    .await;
    let id = nix::unistd::Pid::from_raw(import.id().unwrap().cast_signed());
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = import.wait_with_output().await.unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("500 records read"), "{err}");
    assert_eq!(err.lines().last(), Some("headgate: stopped; continue with --skip 500"), "{err}");
    drop(input);
    assert_eq!(program.stop().await, Some(0));
    database.drop().await;
}

#[tokio::test]
async fn an_export_has_no_formulas() {
    let database = Database::create().await;
    let program = Program::serve(&database, &[("HEADGATE_WORKERS", "0")]).await;
    program.api().app("shop").await;
    let environment = [("HEADGATE_DATABASE_URL", database.url())];
    let import = ["import", "records", "--app", "shop", "--record-type", "product", "--format", "jsonl"];
    assert_eq!(run(&import, &environment, "{\"id\":\"=cmd()\"}\n{\"id\":\"plain\"}\n").await.code, Some(0));
    let csv = run(&["export", "records", "--app", "shop", "--format", "csv"], &environment, "").await;
    assert_eq!(csv.code, Some(0), "{}", csv.err);
    assert!(csv.out.starts_with("\"app_id\",\"record_type\",\"record_id\""), "{}", csv.out);
    let columns: Vec<&str> = csv.out.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(&columns[1..4], ["\"product\"", "\"'=cmd()\"", "\"1\""], "{}", csv.out);
    let jsonl = run(&["export", "records"], &environment, "").await;
    assert!(jsonl.out.contains("\"record_id\":\"=cmd()\""), "{}", jsonl.out);
    assert_eq!(run(&["export", "dead-letters"], &environment, "").await.out, "");
    let nobody = uuid::Uuid::now_v7().to_string();
    assert_eq!(run(&["export", "sent", "--integration", &nobody], &environment, "").await.code, Some(1));
    assert_eq!(program.stop().await, Some(0));
    database.drop().await;
}

#[tokio::test]
async fn an_export_has_everything_unless_it_is_filtered() {
    let database = Database::create().await;
    let program = Program::serve(&database, &[]).await;
    let api = program.api();
    let receiver = Receiver::start(Behaviour::AlwaysOk).await;
    let mut created = Vec::new();
    for slug in ["one", "two"] {
        let app = api.app(slug).await;
        let integration =
            api.webhook(&app, "Search", &receiver.url, json!({"record_types": ["product"]})).await;
        for kind in ["product", "price"] {
            let event = json!({
                "app_id": app, "type": "record.created", "record_type": kind, "record_id": slug, "attributes": {"n": 1}
            });
            api.post("/events", &event).await;
        }
        created.push((app, integration));
    }
    for (_, integration) in &created {
        eventually("it is sent", Duration::from_secs(30), async || {
            let status = api.get(&format!("/integrations/{integration}/status")).await;
            (status["records_in_sync"] == 1).then_some(())
        })
        .await;
    }
    let environment = [("HEADGATE_DATABASE_URL", database.url())];
    let export = async |arguments: &[&str]| {
        let output = run(&[&["export"], arguments].concat(), &environment, "").await;
        assert_eq!(output.code, Some(0), "{}", output.err);
        output.out.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (app, integration) = (&created[0].0, &created[0].1);
    for (arguments, rows) in [
        (&["sent"][..], 2),
        (&["sent", "--app", "one"], 1),
        (&["sent", "--integration", integration], 1),
        (&["sent", "--record-type", "price"], 0),
        (&["records"], 4),
        (&["records", "--app", "one"], 2),
        (&["records", "--integration", integration], 1),
        (&["records", "--integration", integration, "--record-type", "price"], 0),
        (&["dead-letters"], 0),
    ] {
        assert_eq!(export(arguments).await.len(), rows, "{arguments:?}");
        let csv = [arguments, &["--format", "csv"]].concat();
        assert_eq!(export(&csv).await.len(), rows + 1, "{csv:?}");
    }
    let sent: Vec<Value> =
        export(&["sent"]).await.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let owners: Vec<_> = sent.iter().map(|row| (&row["app_id"], &row["integration_id"])).collect();
    assert!(owners.contains(&(&json!(app), &json!(integration))), "{owners:?}");
    let csv = export(&["sent", "--format", "csv", "--app", "one"]).await;
    assert!(csv[0].starts_with("\"app_id\",\"integration_id\",\"record_type\""), "{csv:?}");
    assert!(csv[1].starts_with(&format!("\"{app}\",\"{integration}\",\"product\",\"one\"")), "{csv:?}");
    assert_eq!(program.stop().await, Some(0));
    database.drop().await;
}

#[tokio::test]
async fn a_key_created_on_the_command_line_works_and_is_shown_once() {
    let database = Database::create().await;
    let program = Program::serve(&database, &[("HEADGATE_WORKERS", "0")]).await;
    let environment = [("HEADGATE_DATABASE_URL", database.url())];
    let wrong = run(&["admin", "create-api-key", "--name", "ci", "--role", "king"], &environment, "").await;
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("invalid value 'king' for '--role <ROLE>'"), "{}", wrong.err);
    assert!(wrong.err.contains("operator, support, auditor, producer, worker, portal"), "{}", wrong.err);
    let created =
        run(&["admin", "create-api-key", "--name", "ci", "--role", "auditor"], &environment, "").await;
    assert_eq!(created.code, Some(0), "{}", created.err);
    let key = created.out.trim();
    assert!(key.starts_with("hg_auditor_") && !created.err.contains(key), "{}", created.out);
    let auditor = Api::new(&program.url, key);
    auditor.get("/apps").await;
    let refused = auditor.send(Method::POST, "/apps", Some(&serde_json::json!({"name": "x"}))).await;
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    assert!(!program.log().contains(key));

    let create = ["admin", "create-user", "--email", "ada@example.test", "--role", "support"];
    let created = run(&create, &environment, "a long and uncommon phrase\n").await;
    assert_eq!(
        (created.code, created.out.trim()),
        (Some(0), "created support ada@example.test"),
        "{}",
        created.err
    );
    let twice = run(&create, &environment, "a long and uncommon phrase\n").await;
    assert_eq!(twice.code, Some(1));
    assert_eq!(
        twice.err.lines().last().map(|line| line.starts_with("headgate: ")),
        Some(true),
        "{}",
        twice.err
    );
    let reset = ["admin", "reset-password", "--email", "ada@example.test"];
    assert_eq!(run(&reset, &environment, "another uncommon phrase\n").await.code, Some(0));
    assert_eq!(run(&reset, &environment, "").await.code, Some(1), "no password was given");
    assert_eq!(program.stop().await, Some(0));
    database.drop().await;
}
