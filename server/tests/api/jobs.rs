use crate::support::{Server, a_job, a_webhook, a_worker, an_app, an_external, claim};
use model::actor::Role;
use serde_json::{Value, json};
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_is_created_read_explained_cancelled_and_requeued(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let integration = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    let body = json!({
        "integration_id": integration, "job_type": "export", "payload": {"n": 1}, "priority": 5,
        "serialize_key": "k", "correlation_id": "c-1", "max_attempts": 3, "timeout_ms": 1000,
    });
    let made = client.post("/jobs", body).await.ok(201);
    assert_eq!(made["items"][0]["outcome"], "created");
    let id = made["items"][0]["id"].as_str().unwrap();
    let job = client.get(&format!("/jobs/{id}")).await.ok(200);
    assert_eq!(
        (&job["status"], &job["priority"], &job["max_attempts"]),
        (&json!("pending"), &json!(5), &json!(3))
    );
    assert_eq!((&job["app_id"], &job["integration_type"]), (&json!(app), &json!("webhook")));
    assert_eq!((&job["payload"], &job["attempts"]), (&json!({"n": 1}), &json!([])));
    let why = client.get(&format!("/jobs/{id}/explain")).await.ok(200);
    assert_eq!(why["state"], "pending");
    let codes: Vec<&str> =
        why["reasons"].as_array().unwrap().iter().filter_map(|r| r["code"].as_str()).collect();
    assert!(codes.contains(&"no_worker"), "{why}");
    assert_eq!(client.act(&format!("/jobs/{id}/cancel")).await.ok(200)["status"], "cancelled");
    client.act(&format!("/jobs/{id}/cancel")).await.problem(409);
    let requeued = client.act(&format!("/jobs/{id}/requeue")).await.ok(200);
    assert_eq!(
        (&requeued["id"], &requeued["status"], &requeued["attempt"]),
        (&json!(id), &json!("pending"), &json!(0))
    );
    client.act(&format!("/jobs/{id}/requeue")).await.problem(409);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_is_being_sent_is_cancelled_once_its_worker_stops(pool: PgPool) {
    let (_server, client, app) = Server::with_app_and_workers(pool).await;
    // Accepts the request and never answers.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let integration = a_webhook(&client, &app, &url).await;
    let id = a_job(&client, &integration).await;
    let _request = silent.accept().await.unwrap();
    let job = client.act(&format!("/jobs/{id}/cancel")).await.ok(200);
    assert_eq!((&job["status"], &job["cancel_requested_at"]), (&json!("cancelled"), &Value::Null));
    let job = client.get(&format!("/jobs/{id}")).await.ok(200);
    assert_eq!(job["attempts"][0]["outcome"], "cancelled");
    client.act(&format!("/jobs/{id}/cancel")).await.problem(409);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_whose_worker_does_not_stop_has_a_cancel_request(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool.clone()).await;
    let integration = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    let id = a_job(&client, &integration).await;
    let worker_id = a_worker(&pool).await;
    claim(&pool, worker_id).await;
    let asked = client.act(&format!("/jobs/{id}/cancel")).await.ok(200);
    assert_eq!(asked["status"], "processing");
    assert!(asked["cancel_requested_at"].is_string(), "{asked}");
    let again = client.act(&format!("/jobs/{id}/cancel")).await.ok(200);
    assert_eq!(again["cancel_requested_at"], asked["cancel_requested_at"], "asking again changes nothing");
    client.act(&format!("/jobs/{id}/requeue")).await.problem(409);
    let bulk = json!({"action": "cancel", "ids": [id]});
    assert_eq!(client.post("/jobs/bulk", bulk).await.ok(200)["changed"], 1);
    let why = client.get(&format!("/jobs/{id}/explain")).await.ok(200);
    assert_eq!(why["reasons"][0]["code"], "cancel_requested");
    let list = client.get("/jobs?status=processing").await.ok(200);
    assert_eq!(list["items"][0]["cancel_requested_at"], asked["cancel_requested_at"]);
    let log = client.get("/audit-log").await.ok(200);
    assert!(log["items"].as_array().unwrap().iter().any(|entry| entry["action"] == "job.cancel"), "{log}");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn several_jobs_are_answered_in_order_and_duplicates_are_folded(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let job = |dedup: &str| json!({"app_id": app, "job_type": "export", "deduplication_id": dedup});
    let made = client.post("/jobs", json!([job("a"), job("b"), job("a")])).await.ok(201);
    let items = made["items"].as_array().unwrap();
    let outcomes: Vec<&Value> = items.iter().map(|item| &item["outcome"]).collect();
    assert_eq!(outcomes, ["created", "created", "coalesced"]);
    assert_eq!(items[0]["id"], items[2]["id"]);
    let again = client.post("/jobs", job("b")).await.ok(201);
    assert_eq!(
        (&again["items"][0]["outcome"], &again["items"][0]["id"]),
        (&json!("coalesced"), &items[1]["id"])
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn filters_narrow_the_list(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let integration = an_external(&client, &app).await;
    let one = a_job(&client, &integration).await;
    let two = a_job(&client, &integration).await;
    client.act(&format!("/jobs/{two}/cancel")).await.ok(200);
    for (filter, ids) in [
        ("".to_owned(), vec![&two, &one]),
        ("status=pending".to_owned(), vec![&one]),
        ("status=cancelled".to_owned(), vec![&two]),
        ("status=retrying".to_owned(), vec![]),
        (format!("integration_id={integration}&job_type=export.nightly"), vec![&two, &one]),
        ("job_type=other".to_owned(), vec![]),
        (format!("q={one}"), vec![&one]),
        ("created_after=2100-01-01T00:00:00Z".to_owned(), vec![]),
        ("max_age=1h&attempt_max=0".to_owned(), vec![&two, &one]),
        ("min_age=1h".to_owned(), vec![]),
        ("finished_after=2020-01-01T00:00:00Z".to_owned(), vec![&two]),
        (format!("integration_id={integration}&response_status=5xx"), vec![]),
        (format!("integration_id={integration}&payload.order.id=17&payload.sku=x"), vec![]),
        (format!("integration_id={integration}&payload=order.id%3D17"), vec![]),
    ] {
        let list = client.get(&format!("/jobs?{filter}")).await.ok(200);
        let found: Vec<&str> =
            list["items"].as_array().unwrap().iter().map(|j| j["id"].as_str().unwrap()).collect();
        assert_eq!(found, ids, "{filter}");
    }
    for (query, name) in [
        ("response_status=503", "response_status"),
        ("worker_id=0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7", "worker_id"),
        ("payload.order.id=17", "payload"),
        ("attempt_min=2&status=completed", "attempt_min"),
        ("min_age=soon", "min_age"),
        ("response_status=6xx", "response_status"),
        ("payload.a=1&payload.a=2", "payload.a"),
    ] {
        assert_eq!(client.get(&format!("/jobs?{query}")).await.pointers(422), [name], "{query}");
    }
    let costly = json!({"action": "cancel", "filter": {"worker_id": "0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7"}, "dry_run": true});
    assert_eq!(client.post("/jobs/bulk", costly).await.pointers(422), ["/filter/worker_id"]);
    client.get("/dead-letters?response_status=5xx").await.ok(200);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_empty_page_can_have_a_next_cursor(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool.clone()).await;
    let integration = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    let rare = json!({"integration_id": integration, "job_type": "rare", "payload": {}});
    let rare = client.post("/jobs", rare).await.ok(201)["items"][0]["id"].clone();
    sqlx::query(
        "insert into headgate.jobs (id, app_id, integration_id, rank, max_attempts, job_type, correlation_id)
         select (lpad(to_hex((extract(epoch from now() + interval '1 second') * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(g), 19, '0'))::uuid,
             $1::uuid, $2::uuid, 0, 10, 'dense', 'c-' || g
         from generate_series(1, 3100) g",
    )
    .bind(&app)
    .bind(&integration)
    .execute(&pool)
    .await
    .unwrap();
    for narrowed in [
        "job_type=rare".to_owned(),
        format!("job_type=rare&app_id={app}"),
        format!("job_type=rare&integration_id={integration}"),
    ] {
        let mut page = client.get(&format!("/jobs?{narrowed}")).await.ok(200);
        assert_eq!(page["items"], json!([]), "{narrowed}");
        let mut found = Vec::new();
        while let Some(cursor) = page["next_cursor"].as_str() {
            page = client.get(&format!("/jobs?{narrowed}&cursor={cursor}")).await.ok(200);
            found.extend(page["items"].as_array().unwrap().iter().map(|job| job["id"].clone()));
        }
        assert_eq!(found, std::slice::from_ref(&rare), "{narrowed}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_bulk_action_counts_first_and_then_acts(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let integration = an_external(&client, &app).await;
    for _ in 0..3 {
        a_job(&client, &integration).await;
    }
    let mut body = json!({"action": "cancel", "filter": {"integration_id": integration}, "dry_run": true});
    let dry_run = client.post("/jobs/bulk", body.clone()).await.ok(200);
    assert_eq!((&dry_run["matched"], dry_run["sample"].as_array().unwrap().len()), (&json!(3), 3));
    body["dry_run"] = json!(false);
    let done = client.post("/jobs/bulk", body).await.ok(200);
    assert_eq!((&done["matched"], &done["changed"], &done["skipped"]), (&json!(3), &json!(3), &json!(0)));
    let path = format!("/operations/{}", done["operation_id"].as_str().unwrap());
    let operation = client.get(&path).await.ok(200);
    assert_eq!((&operation["state"], &operation["changed"]), (&json!("done"), &json!(3)));
    assert_eq!(operation["breakdown"][0]["count"], 3);
    for (body, pointer) in [
        (json!({"action": "cancel", "filter": {}}), "/filter"),
        (json!({"action": "cancel", "filter": {"q": "", "job_type": " "}}), "/filter"),
        (json!({"action": "purge", "filter": {"status": "failed"}}), "/action"),
        (json!({"action": "cancel"}), "/ids"),
        (json!({"action": "cancel", "ids": ["x"]}), "/ids/0"),
        (json!({"action": "cancel", "filter": {"nonsense": 1}}), "/filter/nonsense"),
    ] {
        assert_eq!(client.post("/jobs/bulk", body).await.pointers(422), [pointer]);
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_producer_sees_the_jobs_of_its_app_and_cannot_change_them(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let (own, foreign) = (an_app(&client, "Own").await, an_app(&client, "Foreign").await);
    let foreign = a_job(&client, &an_external(&client, &foreign).await).await;
    let producer = server.key(Role::Producer, Some(&own)).await;
    let made = producer.post("/jobs", json!({"app_id": own, "job_type": "export"})).await.ok(201);
    let id = made["items"][0]["id"].as_str().unwrap();
    let list = producer.get("/jobs").await.ok(200);
    let found: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|j| j["id"].as_str().unwrap()).collect();
    assert_eq!(found, [id]);
    assert_eq!(producer.get(&format!("/jobs/{id}")).await.ok(200)["status"], "pending");
    producer.get(&format!("/jobs/{id}/explain")).await.ok(200);
    producer.get(&format!("/jobs/{foreign}")).await.problem(404);
    producer.get(&format!("/jobs/{foreign}/explain")).await.problem(404);
    for step in ["cancel", "requeue"] {
        producer.act(&format!("/jobs/{id}/{step}")).await.problem(403);
    }
    let bulk = json!({"action": "cancel", "ids": [id]});
    producer.post("/jobs/bulk", bulk).await.problem(403);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_expires_before_it_runs_is_refused(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let job = |more: Value| {
        let mut job = json!({"app_id": app, "job_type": "export"});
        job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        job
    };
    let at = |minutes| chrono::Utc::now() + chrono::TimeDelta::minutes(minutes);
    for wrong in [
        json!({"expires_at": at(-60)}),
        json!({"run_at": at(60), "expires_at": at(30)}),
        json!({"run_at": "2099-01-01T00:00:00Z", "expires_at": "2099-01-01T00:00:00Z"}),
    ] {
        let problem = client.post("/jobs", job(wrong.clone())).await.problem(422);
        assert_eq!(problem["errors"][0]["pointer"], "/expires_at", "{wrong}");
        let problem = client.post("/jobs", json!([job(json!({})), job(wrong)])).await.problem(422);
        assert_eq!(problem["errors"][0]["pointer"], "/1/expires_at");
    }
    // A short delay of clocks or of a queue before this one is tolerated: the job is accepted, and expires.
    for right in [
        json!({"expires_at": at(-1)}),
        json!({"expires_at": at(60)}),
        json!({"run_at": at(30), "expires_at": at(60)}),
        json!({"run_at": at(-60), "expires_at": at(60)}),
    ] {
        client.post("/jobs", job(right)).await.ok(201);
    }
}
