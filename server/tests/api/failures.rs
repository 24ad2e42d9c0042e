use crate::support::{Client, Receiver, Server, a_webhook, an_app, an_event};
use model::actor::Role;
use serde_json::{Value, json};
use sqlx::PgPool;

/// Has this many records refused by a receiver; returns the app and its integration.
async fn refused(server: &Server, client: &Client, records: u64, before: u64) -> (String, String) {
    let app = an_app(client, &format!("Shop {before}")).await;
    let receiver = Receiver::answering(400).await;
    let integration = a_webhook(client, &app, &receiver.url()).await;
    let events: Vec<Value> = (0..records).map(|n| an_event(&app, &n.to_string())).collect();
    client.post("/events", json!(events)).await.ok(202);
    server.recorded(before + records).await;
    (app, integration)
}

/// The groups, once the leader, which sums every second, has counted this many jobs.
async fn groups(client: &Client, jobs: i64) -> Vec<Value> {
    let list = client.until("/failures", |list| {
        let items = list["items"].as_array().unwrap();
        let sum = |name: &str| items.iter().map(|group| group[name].as_i64().unwrap()).sum::<i64>();
        sum("dead_letters") + sum("to_be_retried") == jobs
    });
    list.await["items"].as_array().unwrap().clone()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_group_spans_apps_and_is_retried_snoozed_fixed_and_given_a_note(pool: PgPool) {
    let server = Server::with_workers(pool).await;
    let client = server.operator();
    let (one, first) = refused(&server, &client, 2, 0).await;
    let (_, second) = refused(&server, &client, 1, 2).await;
    let group = groups(&client, 3).await.remove(0);
    let open = client.get("/failures?state=open").await.ok(200)["items"].as_array().unwrap().len();
    server.sampled().await;
    assert_eq!(client.get("/stats/overview").await.ok(200)["failures"]["open"], json!(open));
    let portal = server.key(Role::Portal, Some(&one)).await;
    assert_eq!(
        portal.get("/stats/overview").await.ok(200)["failures"]["open"],
        Value::Null,
        "open failures are not counted per app"
    );
    assert_eq!(
        (&group["integrations"], &group["apps"], &group["state"]),
        (&json!(2), &json!(2), &json!("open"))
    );
    let fingerprint = group["fingerprint"].as_str().unwrap().to_owned();
    let path = format!("/failures/{fingerprint}");
    let detail = client.get(&path).await.ok(200);
    assert_eq!(detail["cause"], "Their system refuses what we send");
    assert_eq!(detail["affected"][0]["integration_id"], json!(first));
    let own = client.get(&format!("{path}?integration_id={second}")).await.ok(200);
    assert_eq!((&own["dead_letters"], own["affected"].as_array().unwrap().len()), (&json!(1), 1));

    let support = server.key(Role::Support, None).await;
    let note = json!({"note": "We are at it.", "app_id": one});
    assert_eq!(support.post(&format!("{path}/tell"), note).await.ok(200)["integrations"], 1);
    let status = client.get(&format!("/integrations/{first}/status")).await.ok(200);
    assert_eq!(status["notes"][0]["text"], "We are at it.");
    assert!(client.get(&format!("/integrations/{second}/status")).await.ok(200).get("notes").is_none());
    assert_eq!(support.post(&format!("{path}/tell"), json!({"note": " "})).await.pointers(422), ["/note"]);

    let until = chrono::Utc::now() + chrono::TimeDelta::hours(1);
    let snoozed = support.post(&format!("{path}/snooze"), json!({"until": until})).await.ok(200);
    assert_eq!(snoozed["state"], "snoozed");
    assert_eq!(
        support.post(&format!("{path}/snooze"), json!({"until": "2020-01-01T00:00:00Z"})).await.pointers(422),
        ["/until"]
    );
    assert_eq!(support.act(&format!("{path}/fix")).await.ok(200)["state"], "fixed");
    assert_eq!(support.act(&format!("{path}/reopen")).await.ok(200)["state"], "open");
    let lines = client.get("/audit-log?object_kind=failure").await.ok(200);
    let actions: Vec<_> =
        lines["items"].as_array().unwrap().iter().map(|line| line["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["failure.reopen", "failure.fix", "failure.snooze", "failure.tell"]);

    let counted = client.post(&format!("{path}/retry"), json!({"dry_run": true})).await.ok(200);
    assert_eq!(counted["matched"], 3);
    client.act(&format!("/integrations/{first}/pause")).await.ok(200);
    let retried = client.post(&format!("{path}/retry"), json!({"integration_id": first})).await.ok(200);
    assert_eq!((&retried["matched"], &retried["changed"]), (&json!(2), &json!(2)));
    groups(&client, 1).await;
    for unknown in ["0000000000000000", "nonsense"] {
        client.get(&format!("/failures/{unknown}")).await.problem(404);
    }
}
