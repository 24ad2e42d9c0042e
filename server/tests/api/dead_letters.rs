use crate::support::{Client, Receiver, Server, a_webhook, an_app, an_event};
use model::actor::Role;
use serde_json::{Value, json};
use sqlx::PgPool;

/// Has this many records rejected by a receiver; returns the integration.
async fn rejected(server: &Server, client: &Client, records: u64) -> String {
    let app = an_app(client, "Shop").await;
    let receiver = Receiver::answering(400).await;
    let integration = a_webhook(client, &app, &receiver.url()).await;
    let events: Vec<Value> = (0..records).map(|n| an_event(&app, &n.to_string())).collect();
    client.post("/events", json!(events)).await.ok(202);
    server.recorded(records).await;
    integration
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_rejected_change_is_a_dead_letter_with_its_history(pool: PgPool) {
    let server = Server::with_workers(pool).await;
    let client = server.operator();
    let integration = rejected(&server, &client, 2).await;
    let list = client.get("/dead-letters").await.ok(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    let letter = &list["items"][0];
    assert_eq!(
        (&letter["integration_id"], &letter["attempts"][0]["response_status"]),
        (&json!(integration), &json!(400))
    );
    let path = format!("/dead-letters/{}", letter["id"].as_str().unwrap());
    assert_eq!(&client.get(&path).await.ok(200), letter);
    let job = client.get(&format!("/jobs/{}", letter["job_id"].as_str().unwrap())).await.ok(200);
    assert_eq!(job["status"], "failed");
    let groups = client.get("/dead-letters/groups").await.ok(200);
    assert_eq!((groups["items"].as_array().unwrap().len(), &groups["items"][0]["count"]), (1, &json!(2)));
    assert_eq!(groups["next_cursor"], Value::Null);
    let fingerprint = groups["items"][0]["fingerprint"].as_str().unwrap();
    let same = client.get(&format!("/dead-letters?fingerprint={fingerprint}&limit=1")).await.ok(200);
    assert_eq!(same["items"].as_array().unwrap().len(), 1);
    let status = client.get(&format!("/integrations/{integration}/status")).await.ok(200);
    assert_eq!(status["dead_letters"], 2);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn one_is_requeued_one_is_purged(pool: PgPool) {
    let server = Server::with_workers(pool).await;
    let client = server.operator();
    let integration = rejected(&server, &client, 2).await;
    // So that requeued jobs wait.
    client.act(&format!("/integrations/{integration}/pause")).await.ok(200);
    let list = client.get("/dead-letters").await.ok(200);
    let path = |n: usize| format!("/dead-letters/{}", list["items"][n]["id"].as_str().unwrap());
    let support = server.key(Role::Support, None).await;
    support.delete(&path(0)).await.problem(403);
    let job = support.act(&format!("{}/requeue", path(0))).await.ok(200);
    assert_eq!(
        (&job["id"], &job["status"], &job["attempt"]),
        (&list["items"][0]["job_id"], &json!("pending"), &json!(0))
    );
    client.act(&format!("{}/requeue", path(0))).await.problem(404);
    client.delete(&path(1)).await.ok(204);
    client.delete(&path(1)).await.problem(404);
    assert_eq!(client.get("/dead-letters").await.ok(200)["items"], json!([]));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn all_matches_can_be_purged_by_operators_only(pool: PgPool) {
    let server = Server::with_workers(pool).await;
    let client = server.operator();
    let integration = rejected(&server, &client, 3).await;
    let body = json!({"action": "purge", "filter": {"integration_id": integration}});
    server.key(Role::Support, None).await.post("/dead-letters/bulk", body.clone()).await.problem(403);
    assert_eq!(client.post("/dead-letters/bulk", body).await.ok(200)["changed"], 3);
    let status = client.get(&format!("/integrations/{integration}/status")).await.ok(200);
    assert_eq!(status["dead_letters"], 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_purge_is_undone_by_its_operation_or_restored_one_by_one(pool: PgPool) {
    let server = Server::with_workers(pool).await;
    let client = server.operator();
    let integration = rejected(&server, &client, 3).await;
    let before = client.get("/dead-letters").await.ok(200)["items"].clone();
    let body =
        json!({"action": "purge", "filter": {"integration_id": integration}, "reason": "wrong catalog"});
    let purged = client.post("/dead-letters/bulk", body).await.ok(200);
    assert_eq!(
        (&purged["changed"], &client.get("/dead-letters").await.ok(200)["items"]),
        (&json!(3), &json!([]))
    );
    let bin = client.get("/dead-letters/bin?limit=2").await.ok(200);
    assert_eq!((bin["items"].as_array().unwrap().len(), bin["next_cursor"].is_string()), (2, true));
    assert_eq!(
        (&bin["items"][0]["operation_id"], &bin["items"][0]["letter"]),
        (&purged["operation_id"], &before[0])
    );

    let support = server.key(Role::Support, None).await;
    let restore = format!("/dead-letters/{}/restore", before[0]["id"].as_str().unwrap());
    assert_eq!(support.act(&restore).await.ok(200), before[0]);
    support.act(&restore).await.problem(404);
    // A cursor stays valid after the letter it points at was restored.
    let next = bin["next_cursor"].as_str().unwrap();
    let last = format!("/dead-letters/{}/restore", before[1]["id"].as_str().unwrap());
    support.act(&last).await.ok(200);
    let rest = client.get(&format!("/dead-letters/bin?limit=2&cursor={next}")).await.ok(200);
    assert_eq!((&rest["items"][0]["letter"], &rest["next_cursor"]), (&before[2], &Value::Null));
    let list_cursor = "c1018f00000000700080000000000000ff";
    client.get(&format!("/dead-letters/bin?cursor={list_cursor}")).await.problem(422);
    let path = format!("/operations/{}", purged["operation_id"].as_str().unwrap());
    let undone = support.act(&format!("{path}/undo")).await.ok(200);
    assert_eq!((&undone["state"], &undone["reason"]), (&json!("undone"), &json!("wrong catalog")));
    let by = format!("/operations/{}", undone["undone_by"].as_str().unwrap());
    let undo = client.until(&by, |undo| undo["state"] == "done").await;
    assert_eq!(
        (&undo["action"], &undo["changed"], &undo["undoes"]),
        (&json!("undo"), &json!(1), &undone["id"])
    );
    assert_eq!(client.get("/dead-letters").await.ok(200)["items"], before, "as they were");
    support.act(&format!("{path}/undo")).await.problem(409);
    let log = client.get("/audit-log").await.ok(200);
    for (action, object) in [
        ("operation.undo", &purged["operation_id"]),
        ("dead_letter.restore", &before[0]["id"]),
        ("dead_letter.bulk_purge", &purged["operation_id"]),
    ] {
        let of = |line: &&Value| line["action"] == action && line["object_id"] == *object;
        assert_eq!(log["items"].as_array().unwrap().iter().filter(of).count(), 1, "{action}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_list_is_exported_as_a_file_without_formulas(pool: PgPool) {
    let server = Server::with_workers(pool.clone()).await;
    let client = server.operator();
    let integration = rejected(&server, &client, 2).await;
    sqlx::query("update headgate.dead_letter_jobs set correlation_id = '=1+1' where record_id = '1'")
        .execute(&pool)
        .await
        .unwrap();
    let file = client.get(&format!("/dead-letters/export?integration_id={integration}")).await;
    assert_eq!((file.status, file.header("content-type")), (200, "text/csv; charset=utf-8"));
    let lines: Vec<&str> = file.text.lines().collect();
    assert_eq!(lines.len(), 3, "{}", file.text);
    assert!(lines[0].starts_with("\"id\",\"job_id\",") && file.text.contains(",\"'=1+1\","), "{}", file.text);
    let narrowed = client.get("/dead-letters/export?record_id=0").await;
    assert_eq!(narrowed.text.lines().count(), 2);
    client.get("/dead-letters/export?nonsense=1").await.problem(422);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn groups_are_paged_by_size_without_duplicates(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool.clone()).await;
    let integration = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    sqlx::query(
        "with made as (
            insert into headgate.dead_letter_jobs (id, job_id, app_id, integration_id, created_at, run_at, rank, priority, attempt,
                max_attempts, is_full, folded, job_type, correlation_id, error_kind, error_message, fingerprint, attempts)
            -- Of 2026, as both ids say.
            select ('01a00000' || right(gen_random_uuid()::text, 28))::uuid,
                ('01a00000' || right(gen_random_uuid()::text, 28))::uuid, $1::uuid, $2::uuid, now(), now(), 200, 0,
                10, 10, false, 0, 'test', '', 'not_retryable', 'no such shelf', lpad(cause::text, 16, '0') || '-' || right($2::text, 12), '[]'
            from generate_series(1, 230) cause
            cross join lateral generate_series(1, case when cause = 100 then 3 else 1 end)
            returning 1
        ) select count(*) from made",
    )
    .bind(&app)
    .bind(&integration)
    .fetch_one(&pool)
    .await
    .unwrap();
    // With maintained counts, and with counting.
    for filter in ["", "&job_type=test&created_after=2020-01-01T00:00:00Z"] {
        let mut pages = client.pages(&format!("/dead-letters/groups?limit=100{filter}")).await;
        let found: Vec<Value> = pages.concat().iter().map(|group| group["fingerprint"].clone()).collect();
        pages.pop();
        assert!(pages.iter().all(|page| page.len() == 100));
        let fingerprint = |n: i32| format!("{n:016}-{}", &integration[24..]);
        let mut expected: Vec<String> = (1..=230).filter(|n| *n != 100).map(fingerprint).collect();
        expected.insert(0, fingerprint(100));
        assert_eq!(found, expected, "{filter}");
    }
    assert_eq!(client.get("/dead-letters/groups").await.ok(200)["items"].as_array().unwrap().len(), 50);
    for wrong in ["limit=0", "limit=501", "cursor=c1018f0000000070008000000000000000"] {
        client.get(&format!("/dead-letters/groups?{wrong}")).await.problem(422);
    }
}
