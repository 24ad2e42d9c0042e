use crate::support::{Server, an_app, an_external};
use model::actor::Role;
use serde_json::{Value, json};
use sqlx::PgPool;
use std::collections::HashSet;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_item_appears_once_even_if_all_have_the_same_time(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool.clone()).await;
    let integration = an_external(&client, &app).await;
    let job = json!({"integration_id": integration, "job_type": "export"});
    client.post("/jobs", Value::Array(vec![job; 25])).await.ok(201);
    // In one statement, because maintenance looks for jobs without an entry in `ready`.
    let moved = "with moved as (update headgate.jobs set created_at = '2026-01-01T00:00:00Z')
        update headgate.ready set created_at = '2026-01-01T00:00:00Z'";
    sqlx::query(moved).execute(&pool).await.unwrap();
    let pages = client.pages("/jobs?limit=10").await;
    let seen: Vec<&str> = pages.iter().flatten().map(|job| job["id"].as_str().unwrap()).collect();
    assert_eq!((pages.len(), seen.len()), (3, 25));
    assert_eq!(seen.iter().collect::<HashSet<_>>().len(), 25);
    assert!(seen.is_sorted_by(|newer, older| newer > older), "not newest first");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn new_items_do_not_disturb_pages(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    for n in 0..4 {
        an_app(&client, &format!("App {n}")).await;
    }
    let first = client.get("/apps?limit=2").await.ok(200);
    an_app(&client, "Newer").await;
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = client.get(&format!("/apps?limit=2&cursor={cursor}")).await.ok(200);
    let names = |page: &Value| -> Vec<String> {
        page["items"].as_array().unwrap().iter().map(|app| app["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        (names(&first), names(&second)),
        (vec!["App 3".into(), "App 2".into()], vec!["App 1".into(), "App 0".into()])
    );
    assert_eq!(second["next_cursor"], Value::Null);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn invalid_cursors_and_limits_are_refused(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    for list in [
        "/apps",
        "/integrations",
        "/jobs",
        "/dead-letters",
        "/failures",
        "/dead-letters/bin",
        "/operations",
        "/resyncs",
        "/records",
        "/audit-log",
        "/api-keys",
        "/users",
    ] {
        for (query, name) in [
            ("cursor=nonsense", "cursor"),
            ("cursor=c1", "cursor"),
            ("cursor=r1", "cursor"),
            ("cursor=%27%3B%20drop", "cursor"),
            ("cursor=%00", "cursor"),
            ("limit=0", "limit"),
            ("limit=501", "limit"),
            ("limit=many", "limit"),
            ("nonsense=1", "nonsense"),
        ] {
            assert_eq!(client.get(&format!("{list}?{query}")).await.pointers(422), [name], "{list}?{query}");
        }
        client.get(&format!("{list}?limit=500")).await.ok(200);
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_page_of_large_payloads_ends_early_with_a_cursor(pool: PgPool) {
    let (server, client, app) = Server::with_app(pool).await;
    let integration = an_external(&client, &app).await;
    let payload = "x".repeat(900_000);
    let job = json!({"integration_id": integration, "job_type": "export", "payload": payload, "correlation_id": "together"});
    client.post("/jobs", json!(vec![job; 12])).await.ok(201);
    for list in ["/jobs?limit=100", "/records/trail?limit=100&q=together"] {
        let page = client.get(list).await;
        assert!(page.text.len() < 17_000_000, "{list}: {} bytes", page.text.len());
        let page = page.ok(200);
        let first = page["items"].as_array().unwrap().len();
        assert!((1..12).contains(&first), "{list}: {first}");
        let cursor = page["next_cursor"].as_str().expect("there are more");
        let last = client.get(&format!("{list}&cursor={cursor}")).await.ok(200);
        assert_eq!(first + last["items"].as_array().unwrap().len(), 12, "{list}");
        assert_eq!(last["next_cursor"], Value::Null, "{list}");
    }
    // The console's list of jobs does not read payloads.
    let ada = server.person("ada", Role::Operator).await;
    let shown = ada.open("/console/jobs?query=&is_counted=false").await;
    assert_eq!(shown.ok(200)["page"]["items"].as_array().unwrap().len(), 12);
    assert!(shown.text.len() < 100_000, "{} bytes", shown.text.len());
}
