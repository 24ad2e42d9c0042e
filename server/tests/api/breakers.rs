use crate::support::{Receiver, Server, a_job, a_webhook, an_app};
use chrono::{DateTime, TimeDelta, Utc};
use model::actor::Role;
use serde_json::{Value, json};
use sqlx::PgPool;

fn in_an_hour() -> String {
    (Utc::now() + TimeDelta::hours(1)).to_rfc3339()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_operator_holds_probes_and_closes_a_breaker(pool: PgPool) {
    let (server, client, app) = Server::with_app(pool).await;
    let id = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    let path = format!("/integrations/{id}");
    let made = client.get(&path).await.ok(200);
    let closed = json!({
        "state": "closed", "since": null, "probe_at": null, "held_until": null, "failures_in_a_row": 0, "at_once": null, "reason": null,
    });
    assert_eq!(made["breaker"], closed);

    let until = in_an_hour();
    let held =
        client.post(&format!("{path}/breaker"), json!({"action": "hold", "until": until})).await.ok(200);
    assert_eq!((&held["id"], &held["breaker"]["state"]), (&json!(id), &json!("open")));
    assert_eq!(held["breaker"]["probe_at"], held["breaker"]["held_until"]);
    let job = a_job(&client, &id).await;
    let explained = client.get(&format!("/jobs/{job}/explain")).await.ok(200);
    let reason = &explained["reasons"][0];
    assert_eq!(reason["code"], "circuit_open");
    let time = |value: &Value| value.as_str().unwrap().parse::<DateTime<Utc>>().unwrap();
    assert_eq!(time(&reason["until"]), time(&held["breaker"]["held_until"]));
    let status = client.get(&format!("{path}/status")).await.ok(200);
    assert_eq!((&status["sync_state"], &status["eta_seconds"]), (&json!("failing"), &Value::Null));
    server.sampled().await;
    let gauges = client.get("/stats/integrations").await.ok(200);
    let gauge = gauges["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|gauge| gauge["integration_id"] == json!(id))
        .unwrap();
    assert_eq!((&gauge["breaker"]["state"], &gauge["breaker"]["at_once"]), (&json!("open"), &json!(0)));

    let probing = client.post(&format!("{path}/breaker"), json!({"action": "probe"})).await.ok(200);
    assert_eq!(
        (&probing["breaker"]["state"], &probing["breaker"]["at_once"]),
        (&json!("half_open"), &json!(3))
    );
    let after = client.post(&format!("{path}/breaker"), json!({"action": "close"})).await.ok(200);
    assert_eq!((&after["breaker"]["state"], &after["breaker"]["at_once"]), (&json!("closed"), &Value::Null));
    assert_eq!(
        client.post(&format!("{path}/breaker"), json!({"action": "close"})).await.ok(200)["breaker"]["state"],
        "closed"
    );

    let first = client.get(&format!("{path}/breaker/flips?limit=2")).await.ok(200);
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = client.get(&format!("{path}/breaker/flips?limit=2&cursor={cursor}")).await.ok(200);
    assert_eq!(rest["next_cursor"], Value::Null);
    let transitions: Vec<(&str, &str)> = [&first, &rest]
        .into_iter()
        .flat_map(|page| page["items"].as_array().unwrap())
        .map(|flip| (flip["from_state"].as_str().unwrap(), flip["to_state"].as_str().unwrap()))
        .collect();
    assert_eq!(transitions, [("half_open", "closed"), ("open", "half_open"), ("closed", "open")]);
    assert!(first["items"][0]["actor"].is_string() && first["items"][0]["app_id"] == json!(app));

    let log = client.get(&format!("/audit-log?object_id={id}")).await.ok(200);
    let entry = &log["items"][2];
    assert_eq!(entry["action"], "integration.breaker");
    let state = |side: &str| entry[side]["breaker"]["state"].clone();
    assert_eq!((state("before"), state("after")), (json!("open"), json!("half_open")), "{entry}");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn invalid_breaker_actions_are_refused_with_pointers(pool: PgPool) {
    let (server, client, app) = Server::with_app(pool).await;
    let id = a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    let path = format!("/integrations/{id}/breaker");
    let late = (Utc::now() + TimeDelta::days(31)).to_rfc3339();
    for (body, pointer) in [
        (json!({"action": "hold"}), "/until"),
        (json!({"action": "hold", "until": "2020-01-01T00:00:00Z"}), "/until"),
        (json!({"action": "hold", "until": late}), "/until"),
        (json!({"action": "hold", "until": "tomorrow"}), "/until"),
        (json!({"action": "probe", "until": in_an_hour()}), "/until"),
        (json!({"action": "close", "until": in_an_hour()}), "/until"),
        (json!({"action": "open"}), "/action"),
        (json!({"action": "probe", "why": "x"}), "/why"),
    ] {
        assert_eq!(client.post(&path, body.clone()).await.pointers(422), [pointer], "{body}");
    }
    assert_eq!(client.get(&format!("{path}/flips")).await.ok(200)["items"], json!([]));
    let unknown = "/integrations/01890a5d-ac96-774b-bcce-b302099a8057/breaker";
    client.post(unknown, json!({"action": "probe"})).await.problem(404);
    client.get(&format!("{unknown}/flips")).await.problem(404);
    for role in [Role::Support, Role::Auditor] {
        let reader = server.key(role, None).await;
        reader.post(&path, json!({"action": "close"})).await.problem(403);
        reader.get(&format!("{path}/flips")).await.ok(200);
    }
    let other = an_app(&client, "Other").await;
    let foreign = server.key(Role::Portal, Some(other.as_str())).await;
    foreign.get(&format!("{path}/flips")).await.problem(404);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_integration_with_a_held_breaker_sends_nothing_until_its_probes_succeed(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    let receiver = Receiver::answering(200).await;
    let (id, other) = (a_webhook(&client, &app, &receiver.url()).await, Receiver::answering(200).await);
    let path = format!("/integrations/{id}");
    client.post(&format!("{path}/breaker"), json!({"action": "hold", "until": in_an_hour()})).await.ok(200);
    for _ in 0..9 {
        a_job(&client, &id).await;
    }
    // The jobs of another integration are sent; those of this one wait.
    let free = a_webhook(&client, &app, &other.url()).await;
    a_job(&client, &free).await;
    other.next().await;
    let status = client.get(&format!("{path}/status")).await.ok(200);
    assert_eq!((&status["backlog"], &status["processing"]), (&json!(9), &json!(0)));
    client.post(&format!("{path}/breaker"), json!({"action": "probe"})).await.ok(200);
    server.recorded(10).await;
    let flips = client.get(&format!("{path}/breaker/flips")).await.ok(200);
    assert_eq!(flips["items"][0]["to_state"], "ramping", "{flips}");

    // A new URL is probed at once, and failures of the old one do not count.
    let dead = json!({"endpoint_url": "http://127.0.0.1:9/"});
    assert_eq!(client.patch(&path, dead).await.ok(200)["breaker"]["failures_in_a_row"], 0);
}
