//! Masked values cannot be guessed: no filter reveals whether a payload has them.

use crate::support::{Answer, Client, Receiver, Server, an_app};
use model::actor::Role;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

/// Filters that guess masked values, and the path that is refused.
const GUESSES: [(&str, &str); 6] = [
    ("payload.apiKey=hunter2hunter2", "payload.apiKey"),
    ("payload.customer.email=ada%40x.test", "payload.customer.email"),
    ("payload=customer.email%3Dada%40x.test", "payload.customer.email"),
    ("payload.n=1&payload.Customer.E_Mail=ada%40x.test", "payload.Customer.E_Mail"),
    ("payload.phone=12345", "payload.phone"),
    ("payload.note=password%3Dhunter2", "payload.note"),
];

/// Creates a dead letter and a waiting job, of an app that masks `customer.email` and `phone`; returns the two integrations.
async fn masked_jobs(server: &Server, client: &Client, app: &str) -> (String, String) {
    // The answer contains a secret of the request.
    let receiver =
        Receiver::answering_with(400, r#"{"error":"no such lamp","token":"hunter2hunter2"}"#.to_owned())
            .await;
    let webhook = json!({
        "app_id": app, "name": "Shop", "integration_type": "webhook", "endpoint_url": receiver.url(),
        "metadata": {"masked_fields": ["customer.email", "phone"]},
    });
    let external = json!({"app_id": app, "name": "Nightly", "integration_type": "external"});
    let mut ids = Vec::new();
    for integration in [webhook, external] {
        let id = client.post("/integrations", integration).await.ok(201)["id"].as_str().unwrap().to_owned();
        let payload = json!({
            "n": 1, "apiKey": "hunter2hunter2", "customer": {"email": "ada@x.test", "name": "Ada"},
            "phone": 12345, "note": "password=hunter2",
        });
        let job = json!({"integration_id": id, "job_type": "export", "payload": payload});
        client.post("/jobs", job).await.ok(201);
        ids.push(id);
    }
    server.recorded(1).await;
    (ids.remove(0), ids.remove(0))
}

fn found(answer: &Answer) -> usize {
    match answer.text.starts_with('{') {
        true => answer.ok(200)["items"].as_array().unwrap().len(),
        false => answer.text.lines().count() - 1,
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn no_list_is_filtered_by_masked_values(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    let (dead, waiting) = masked_jobs(&server, &client, &app).await;
    let support = server.key(Role::Support, None).await;
    let auditor = server.key(Role::Auditor, None).await;
    let portal = server.key(Role::Portal, Some(&app)).await;
    let producer = server.key(Role::Producer, Some(&app)).await;
    // A dead letter is found by the request it sent, which contains the job's payload, and by that payload, which the job's page shows.
    for (list, integration, above) in [
        ("/jobs", &waiting, ""),
        ("/dead-letters", &dead, "payload."),
        ("/dead-letters/groups", &dead, "payload."),
        ("/dead-letters/export", &dead, "payload."),
        ("/dead-letters", &dead, ""),
        ("/jobs", &dead, ""),
    ] {
        let of = |query: &str| {
            let query = query
                .replace("payload.", &format!("payload.{above}"))
                .replace("payload=", &format!("payload={above}"));
            format!("{list}?integration_id={integration}&{query}")
        };
        for (guess, path) in GUESSES {
            let path = path.replace("payload.", &format!("payload.{above}"));
            for reader in [&support, &auditor, &portal] {
                let answer = reader.get(&of(guess)).await;
                assert_eq!(answer.pointers(422), [path.as_str()], "{list} {guess}");
                assert!(answer.text.contains("is masked: jobs cannot be found by it"), "{}", answer.text);
                let wrong = reader.get(&of(guess).replace("hunter2", "hunter3").replace("12345", "1")).await;
                assert_eq!(wrong.text, answer.text, "a wrong guess gets the same answer");
            }
            let n = usize::from(!guess.contains("E_Mail"));
            assert_eq!(found(&client.get(&of(guess)).await), n, "{list} {guess}");
        }
        // Unmasked values are found, and missing ones are not.
        for (query, n) in
            [("payload.customer.name=Ada", 1), ("payload.n=1", 1), ("payload.customer.name=Eve", 0)]
        {
            for reader in [&client, &support, &portal] {
                assert_eq!(found(&reader.get(&of(query)).await), n, "{list} {query}");
            }
        }
    }
    let own = format!("/jobs?integration_id={waiting}&payload.phone=12345");
    assert_eq!(found(&producer.get(&own).await), 1, "they sent it");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn errors_are_found_by_their_unmasked_parts_only(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool.clone()).await;
    let (dead, _) = masked_jobs(&server, &client, &app).await;
    let support = server.key(Role::Support, None).await;
    let auditor = server.key(Role::Auditor, None).await;
    let portal = server.key(Role::Portal, Some(&app)).await;
    let seen = [("no such LAMP", true), ("token\":", true)];
    let hidden = [("hunter2", false), ("\":\"hun", false)];
    for (error, is_seen) in seen.into_iter().chain(hidden) {
        for list in ["/jobs", "/dead-letters", "/dead-letters/groups", "/dead-letters/export"] {
            let path = format!("{list}?integration_id={dead}&error={}", error.replace('"', "%22"));
            assert_eq!(found(&client.get(&path).await), 1, "{path}");
            for reader in [&support, &auditor, &portal] {
                assert_eq!(found(&reader.get(&path).await), usize::from(is_seen), "{path}");
            }
        }
        for subject in ["jobs", "dead-letters"] {
            let body = json!({"action": "requeue", "filter": {"error": error}, "dry_run": true});
            let matched = async |reader: &Client| {
                let run = reader.post(&format!("/{subject}/bulk"), body.clone()).await.ok(200);
                run["matched"].as_i64().unwrap()
            };
            assert_eq!((matched(&client).await, matched(&support).await), (1, i64::from(is_seen)), "{error}");
        }
    }
    // Stored filters are executed by others: they match only what their author could see, and are shown as they were given.
    let view = json!({"name": "Lamps", "query": "error=hunter2", "is_shared": true});
    client.post("/saved-views", view).await.ok(201);
    let names: Value = sqlx::query_scalar("select filter -> 'masked_names' from headgate.saved_views")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(names, json!(["phone", "email"]));
    let body = json!({"action": "requeue", "filter": {"error": "lamp"}});
    support.post("/jobs/bulk", body).await.ok(200);
    assert_eq!(client.get("/operations").await.ok(200)["items"][0]["filter"], json!({"error": "lamp"}));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn masked_fields_of_other_apps_apply_where_their_data_may_be_found(pool: PgPool) {
    let server = Server::with_workers(pool).await;
    let client = server.operator();
    let (marked, other) = (an_app(&client, "Shop").await, an_app(&client, "Depot").await);
    masked_jobs(&server, &client, &marked).await;
    let support = server.key(Role::Support, None).await;
    let guess = "payload.phone=1&max_age=1h";
    assert_eq!(support.get(&format!("/jobs?{guess}")).await.pointers(422), ["payload.phone"]);
    assert_eq!(found(&support.get(&format!("/jobs?{guess}&app_id={other}")).await), 0);
    // Jobs of a deleted integration may belong to any app.
    let gone = "integration_id=0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7";
    assert_eq!(support.get(&format!("/jobs?{guess}&{gone}")).await.pointers(422), ["payload.phone"]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn no_bulk_action_filters_by_masked_values(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    let (dead, waiting) = masked_jobs(&server, &client, &app).await;
    let support = server.key(Role::Support, None).await;
    let (plain, sent) = ("customer.email", "payload.customer.email");
    for (subject, action, integration, guess) in [
        ("jobs", "cancel", &waiting, plain),
        ("jobs", "requeue", &dead, sent),
        ("dead-letters", "requeue", &dead, sent),
    ] {
        let path = format!("/{subject}/bulk");
        let body = |is_dry: bool| {
            let payload = json!({ guess: "ada@x.test" });
            let filter = json!({"integration_id": integration, "payload": payload});
            json!({"action": action, "filter": filter, "dry_run": is_dry})
        };
        for is_dry in [true, false] {
            let refused = support.post(&path, body(is_dry)).await;
            assert_eq!(refused.pointers(422), [format!("/filter/payload/{guess}")], "{subject} {action}");
        }
        assert_eq!(client.post(&path, body(true)).await.ok(200)["matched"], 1, "{subject} {action}");
    }
    assert_eq!(found(&client.get("/jobs?status=pending").await), 1);
    assert_eq!(found(&client.get("/dead-letters").await), 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn values_that_a_bulk_action_asked_for_are_masked_for_others_and_repeated_whole(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    let (_, waiting) = masked_jobs(&server, &client, &app).await;
    let asked = json!({"integration_id": waiting, "payload": {"customer.email": "ada@x.test", "n": "1"}});
    let done = client.post("/jobs/bulk", json!({"action": "cancel", "filter": asked})).await.ok(200);
    assert_eq!(done["changed"], 1);
    let id = done["operation_id"].as_str().unwrap();
    let (operation, log) = (format!("/operations/{id}"), "/audit-log?action=job.bulk_cancel");
    // A line of the audit log outlives the integrations whose masks count, so that it shows no value.
    let masked = json!({"customer.email": "[masked]", "n": "[masked]"});
    let shown = json!({"customer.email": "[masked]", "n": "1"});
    let support = server.key(Role::Support, None).await;
    let auditor = server.key(Role::Auditor, None).await;
    for reader in [&support, &auditor] {
        assert_eq!(reader.get(&operation).await.ok(200)["filter"]["payload"], shown);
        assert_eq!(reader.get("/operations").await.ok(200)["items"][0]["filter"]["payload"], shown);
        // The list that the operation's page leads to says why it is empty.
        let list = format!("/jobs?integration_id={waiting}&payload.n=%5Bmasked%5D");
        assert_eq!(reader.get(&list).await.pointers(422), ["payload.n"]);
    }
    let person = server.person("kim", Role::Support).await;
    for path in [format!("operation?id={id}"), "operations?query=".to_owned()] {
        let page = person.open(&format!("/console/{path}")).await;
        assert!(page.status == 200 && page.text.contains("[masked]"), "{path}: {}", page.text);
        assert!(!page.text.contains("ada@x.test"), "{path}: {}", page.text);
    }
    let line = auditor.get(log).await.ok(200)["items"][0].clone();
    assert_eq!(line["before"]["filter"]["payload"], masked);
    let line = format!("/audit-log/{}", line["id"].as_str().unwrap());
    assert_eq!(auditor.get(&line).await.ok(200)["before"]["filter"]["payload"], masked);

    assert_eq!(client.get(&line).await.ok(200)["before"]["filter"], asked);
    let whole = client.get(&operation).await.ok(200);
    assert_eq!(whole["filter"], asked);
    client.act(&format!("/jobs/{}/requeue", whole["sample"][0].as_str().unwrap())).await.ok(200);
    client.act(&format!("{line}/repeat")).await.ok(200);
    assert_eq!(found(&client.get("/jobs?status=pending").await), 0, "the same jobs as before");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_console_refuses_such_filters_too(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    let (dead, waiting) = masked_jobs(&server, &client, &app).await;
    let ada = server.person("ada", Role::Support).await;
    let eve = server.person("eve", Role::Operator).await;
    let guess = |id: &str| format!("integration_id={id}&payload.customer.email=ada@x.test");
    let call = async |person: &Client, path: &str, arguments: Vec<(&str, String)>| {
        Answer::of(person.request(Method::GET, &format!("/console/{path}")).query(&arguments)).await
    };
    let bulk = |action: &str, id: &str| {
        vec![("subject", "jobs".to_owned()), ("action", action.to_owned()), ("query", guess(id))]
    };
    for (path, arguments) in [
        ("jobs", vec![("query", guess(&waiting)), ("is_counted", "true".to_owned())]),
        ("jobs", vec![("query", guess(&waiting)), ("is_counted", "false".to_owned())]),
        ("dead-letters", vec![("query", guess(&dead))]),
        ("preview", bulk("cancel", &waiting)),
        ("preview", bulk("requeue", &dead)),
    ] {
        let refused = call(&ada, path, arguments.clone()).await;
        assert_ne!(refused.status, 200, "{path}");
        assert!(refused.text.contains("customer.email is masked: jobs cannot"), "{path}: {}", refused.text);
        assert_eq!(call(&eve, path, arguments).await.status, 200, "{path}");
    }
    let form = format!(
        "subject=jobs&action=cancel&back=%2Fjobs&query={}",
        guess(&waiting).replace('&', "%26").replace('=', "%3D")
    );
    ada.form("/console/bulk", form).await;
    assert_eq!(found(&client.get("/jobs?status=pending").await), 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn no_view_filters_by_masked_values_and_counts_vanish_when_a_value_becomes_masked(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool.clone()).await;
    let (_, waiting) = masked_jobs(&server, &client, &app).await;
    let support = server.key(Role::Support, None).await;
    let view = |query: &str| json!({"name": query, "query": query, "is_shared": true, "alert_at": 1});
    let shown = format!("integration_id={waiting}&payload.customer.name=Ada");
    let saved = client.post("/saved-views", view(&shown)).await.ok(201);
    let path = format!("/saved-views/{}", saved["id"].as_str().unwrap());
    // Not even an operator, because others read the saved view.
    for person in [&support, &client] {
        let guess = format!("integration_id={waiting}&payload.phone=12345");
        let refused = person.post("/saved-views", view(&guess)).await;
        assert_eq!(refused.pointers(422), ["/query"]);
        assert!(refused.text.contains("payload.phone, which is masked"), "{}", refused.text);
        if person.get("/users").await.status == 200 {
            assert_eq!(person.patch(&path, json!({"query": guess})).await.pointers(422), ["/query"]);
        }
    }
    sqlx::query(
        "insert into headgate.saved_view_counts (view_id, n, is_more, counted_at, tried_at, is_too_wide, alerting_since)
         values ($1::uuid, 7, false, now(), now(), false, now())
         on conflict (view_id) do update set n = 7, counted_at = now(), alerting_since = now()",
    )
    .bind(saved["id"].as_str().unwrap())
    .execute(&pool)
    .await
    .unwrap();
    let counted = async |person: &Client| {
        let view = person.get("/saved-views").await.ok(200)["items"][0].clone();
        (view["count"] != Value::Null, view["alerting_since"] != Value::Null)
    };
    assert_eq!((counted(&support).await, counted(&client).await), ((true, true), (true, true)));
    let marks = json!({"metadata": {"masked_fields": ["customer.name"]}});
    client.patch(&format!("/integrations/{waiting}"), marks).await.ok(200);
    assert_eq!((counted(&support).await, counted(&client).await), ((false, false), (true, true)));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_view_whose_value_becomes_masked_hides_it_and_keeps_its_threshold(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool.clone()).await;
    let (_, waiting) = masked_jobs(&server, &client, &app).await;
    let kim = server.person("kim", Role::Support).await;
    let query = |value: &str| format!("integration_id={waiting}&payload.customer.name={value}&limit=20");
    let (asked, masked) = (query("Ada"), query("%5Bmasked%5D"));
    let view = json!({"name": "Named", "query": asked, "is_shared": true, "alert_at": 5});
    let saved = kim.post("/saved-views", view).await.ok(201);
    assert_eq!(saved["query"], json!(asked));
    let path = format!("/saved-views/{}", saved["id"].as_str().unwrap());
    kim.patch(&path, json!({"alert_at": 4})).await.ok(200);
    let marks = json!({"metadata": {"masked_fields": ["customer.name"]}});
    client.patch(&format!("/integrations/{waiting}"), marks).await.ok(200);
    sqlx::query(
        "insert into headgate.saved_view_counts (view_id, tried_at, is_too_wide) values ($1::uuid, now(), true)
         on conflict (view_id) do update set is_too_wide = true",
    )
    .bind(saved["id"].as_str().unwrap())
    .execute(&pool)
    .await
    .unwrap();

    let seen = kim.get(&path).await.ok(200);
    assert_eq!((&seen["query"], &seen["is_too_wide"]), (&json!(masked), &json!(false)));
    assert_eq!(kim.get("/saved-views").await.ok(200)["items"][0]["query"], json!(masked));
    let palette = kim.open("/console/find?q=named").await.ok(200);
    assert_eq!(palette["views"], json!([["Named", masked]]));
    assert_eq!(kim.get(&format!("/jobs?{masked}")).await.pointers(422), ["payload.customer.name"]);
    let log = server.key(Role::Auditor, None).await.get("/audit-log?object_kind=saved_view").await;
    log.ok(200);
    assert!(log.text.contains(&masked) && !log.text.contains(&asked), "{}", log.text);
    assert_eq!(client.get(&path).await.ok(200)["query"], json!(asked));

    let refused = kim.patch(&path, json!({"alert_at": 1})).await;
    assert_eq!(refused.pointers(422), ["/query"]);
    assert!(refused.text.contains("payload.customer.name, which is masked"), "{}", refused.text);
    assert_eq!(kim.patch(&path, json!({"query": masked})).await.pointers(422), ["/query"]);
    // The console's form sends the threshold with every change.
    kim.patch(&path, json!({"name": "Renamed", "alert_at": 4})).await.ok(200);
    client.patch(&path, json!({"alert_at": 1})).await.ok(200);
    kim.patch(&path, json!({"alert_at": null})).await.ok(200);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn roles_that_do_not_see_workers_cannot_filter_by_them(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    let (dead, _) = masked_jobs(&server, &client, &app).await;
    let letter =
        client.get(&format!("/dead-letters?integration_id={dead}")).await.ok(200)["items"][0].clone();
    let worker = letter["attempts"][0]["worker_id"].as_str().unwrap();
    let support = server.key(Role::Support, None).await;
    let portal = server.key(Role::Portal, Some(&app)).await;
    let producer = server.key(Role::Producer, Some(&app)).await;
    for (reader, list) in [
        (&portal, "/jobs"),
        (&producer, "/jobs"),
        (&portal, "/dead-letters"),
        (&portal, "/dead-letters/groups"),
    ] {
        let path = format!("{list}?integration_id={dead}&worker_id={worker}");
        assert_eq!(reader.get(&path).await.pointers(422), ["worker_id"], "{path}");
        assert_eq!(found(&support.get(&path).await), 1, "{path}");
    }
    let job = format!("/jobs/{}", letter["job_id"].as_str().unwrap());
    for (reader, expected) in [(&support, &letter["attempts"][0]["worker_id"]), (&producer, &Value::Null)] {
        assert_eq!(&reader.get(&job).await.ok(200)["attempts"][0]["worker_id"], expected);
    }
}
