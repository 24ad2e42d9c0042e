use crate::support::{Receiver, Server, a_webhook, an_app, an_event};
use model::actor::Role;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_change_becomes_a_signed_request(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    let receiver = Receiver::answering(200).await;
    a_webhook(&client, &app, &receiver.url()).await;
    let mut event = an_event(&app, "sku-1");
    event["correlation_id"] = json!("order-7");
    let accepted = client.post("/events", event.clone()).await.ok(202);
    assert_eq!(
        accepted,
        json!({
            "accepted": 1, "records_changed": 1, "jobs_created": 1, "jobs_coalesced": 0, "unchanged": 0, "repeated": 0,
            "stale": 0
        })
    );
    let (headers, body) = receiver.next().await;
    assert!(headers["webhook-signature"].to_str().unwrap().starts_with("v1,"));
    assert_eq!(headers["x-correlation-id"], "order-7");
    assert_eq!((&body["full"], &body["changes"]["set"]), (&json!(true), &event["attributes"]));
    server.recorded(1).await;
    let again = client.post("/events", event).await.ok(202);
    assert_eq!((&again["unchanged"], &again["jobs_created"]), (&json!(1), &json!(0)));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_folded_change_is_found_by_its_correlation_id(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    let receiver = Receiver::answering(200).await;
    let id = a_webhook(&client, &app, &receiver.url()).await;
    client.act(&format!("/integrations/{id}/pause")).await.ok(200);
    for (correlation, price) in [("corr-a", 5), ("corr-b", 6)] {
        let mut event = an_event(&app, "sku-1");
        event["correlation_id"] = json!(correlation);
        event["attributes"] = json!({"price": price});
        client.post("/events", event).await.ok(202);
    }
    client.act(&format!("/integrations/{id}/resume")).await.ok(200);
    assert_eq!(receiver.next().await.0["x-correlation-id"], "corr-b", "the last one's");
    server.recorded(1).await;
    for correlation in ["corr-a", "corr-b"] {
        let jobs = client.get(&format!("/jobs?correlation_id={correlation}")).await.ok(200);
        assert_eq!(jobs["items"][0]["correlation_ids"], json!(["corr-a", "corr-b"]), "{correlation}");
        assert_eq!(jobs["items"][0]["earlier_correlations"], json!(0));
        let trail = client.get(&format!("/records/trail?q={correlation}")).await.ok(200);
        assert_eq!(
            (&trail["readings"], &trail["items"][0]["id"]),
            (&json!(["correlation"]), &jobs["items"][0]["id"])
        );
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn deliveries_continue_the_trace_of_the_request(pool: PgPool) {
    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const PARENT: &str = "00f067aa0ba902b7";
    let (_server, client, app) = Server::with_app_and_workers(pool).await;
    let receiver = Receiver::answering(200).await;
    let integration = a_webhook(&client, &app, &receiver.url()).await;
    let trace_of = async |path: &str, body: Value, given: &[&str]| {
        let mut request = client
            .request(Method::POST, &format!("/api/v1{path}"))
            .header("content-type", "application/json")
            .body(body.to_string());
        for value in given {
            request = request.header("traceparent", *value);
        }
        assert!(request.send().await.unwrap().status().is_success());
        let sent = receiver.next().await.0["traceparent"].to_str().unwrap().to_owned();
        let [version, trace, parent, flags] = sent.split('-').collect::<Vec<_>>().try_into().unwrap();
        assert_eq!((version, trace.len(), parent.len()), ("00", 32, 16), "{sent}");
        assert_ne!(parent, PARENT, "a parent id of its own");
        (trace.to_owned(), flags.to_owned())
    };
    let job = json!({"integration_id": integration, "job_type": "export"});
    for flags in ["01", "00"] {
        let given = format!("00-{TRACE}-{PARENT}-{flags}");
        let carried = (TRACE.to_owned(), flags.to_owned());
        let event = an_event(&app, &format!("sku-{flags}"));
        assert_eq!(trace_of("/events", event, &[&given]).await, carried);
        assert_eq!(trace_of("/jobs", job.clone(), &[&given]).await, carried);
    }
    let (good, bad) = (format!("00-{TRACE}-{PARENT}-01"), format!("00-{TRACE}-{PARENT}"));
    for ignored in [vec![bad.as_str()], vec![good.as_str(), good.as_str()], vec![]] {
        let (trace, flags) = trace_of("/jobs", job.clone(), &ignored).await;
        assert!(trace != TRACE && flags == "01", "{ignored:?}: a trace of its own");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn debounced_changes_are_one_request_and_an_urgent_one_is_sent_at_once(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    let receiver = Receiver::answering(200).await;
    let id = a_webhook(&client, &app, &receiver.url()).await;
    let integration = format!("/integrations/{id}");
    let refused = client.patch(&integration, json!({"debounce": {"seconds": 60, "max_seconds": 5}})).await;
    assert_eq!(refused.pointers(422), ["/debounce/max_seconds"]);
    let debounce = json!({"seconds": 3_000, "max_seconds": 9_000});
    let changed = client.patch(&integration, json!({"debounce": debounce})).await.ok(200);
    assert_eq!(changed["debounce"], debounce);
    let change = |price: i32, kind: &str| {
        let mut event = an_event(&app, "sku-1");
        event["type"] = json!(kind);
        event["attributes"] = json!({"price": price});
        event
    };
    for price in [5, 6, 7] {
        client.post("/events", change(price, "record.updated")).await.ok(202);
    }
    let jobs = client.get(&format!("/jobs?integration_id={id}")).await.ok(200);
    let job = &jobs["items"][0];
    assert_eq!(
        (jobs["items"].as_array().unwrap().len(), &job["status"], &job["folded"]),
        (1, &json!("pending"), &json!(2))
    );
    assert!(job["gathers_until"].as_str() > job["run_at"].as_str());
    let explanation = client.get(&format!("/jobs/{}/explain", job["id"].as_str().unwrap())).await.ok(200);
    assert_eq!(
        (&explanation["reasons"][0]["code"], &explanation["runs_at"]),
        (&json!("gathers_changes"), &job["run_at"])
    );
    client.post("/events", change(8, "attribute.update")).await.ok(202);
    let (_, body) = receiver.next().await;
    assert_eq!((&body["type"], &body["changes"]["set"]["price"]), (&json!("attribute.update"), &json!(8)));
    server.recorded(1).await;
    let cleared = client.patch(&integration, json!({"debounce": null})).await.ok(200);
    assert_eq!(cleared["debounce"], json!(null));
    client.post("/events", change(9, "record.updated")).await.ok(202);
    assert_eq!(receiver.next().await.1["changes"]["set"]["price"], json!(9));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn changes_of_a_waiting_record_are_folded(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    a_webhook(&client, &app, "http://127.0.0.1:9/").await;
    client.post("/events", an_event(&app, "1")).await.ok(202);
    let mut second = an_event(&app, "1");
    second["attributes"] = json!({"price": 6});
    let accepted = client.post("/events", json!([second, an_event(&app, "2")])).await.ok(202);
    assert_eq!((&accepted["jobs_coalesced"], &accepted["jobs_created"]), (&json!(1), &json!(1)));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn cloud_events_are_accepted_singly_and_in_batches(pool: PgPool) {
    let (_server, client, app) = Server::with_app(pool).await;
    let event = |id: &str, appid: &str| {
        json!({
            "specversion": "1.0", "id": id, "source": "/shop", "type": "record.created", "subject": format!("product/{id}/x"),
            "time": "2026-11-20T10:00:00Z", "data": {"title": "Lamp"}, "appid": appid, "correlationid": "c-1",
            "partitionkey": "ignored",
        })
    };
    let single = "application/cloudevents+json; charset=UTF-8";
    let batch = "application/cloudevents-batch+json";
    client.send("/events", Some(single), event("1", &app).to_string()).await.ok(202);
    let two = json!([event("2", &app), event("3", &app)]);
    assert_eq!(client.send("/events", Some(batch), two.to_string()).await.ok(202)["accepted"], 2);
    let record = client.get(&format!("/records/{app}/product/2%2Fx")).await.ok(200);
    assert_eq!(record["attributes"], json!({"title": "Lamp"}));
    let mut gone = event("2", &app);
    gone["type"] = json!("record.deleted");
    let send = async |event: &Value| client.send("/events", Some(single), event.to_string()).await.ok(202);
    assert_eq!(send(&gone).await["repeated"], 1, "this source and id was accepted before");
    gone["source"] = json!("/warehouse");
    assert_eq!(send(&gone).await["records_changed"], 1);
    let mut late = event("6", &app);
    (late["subject"], late["time"]) = (json!("product/2/x"), json!("2026-11-20T09:00:00Z"));
    assert_eq!(send(&late).await["stale"], 1);
    // The content type must match the form.
    client.send("/events", Some(single), two.to_string()).await.problem(422);
    client.send("/events", Some(batch), event("4", &app).to_string()).await.problem(422);
    let wrong = json!([event("5", &app), {"specversion": "1.0"}]);
    assert_eq!(client.send("/events", Some(batch), wrong.to_string()).await.pointers(422), ["/1/id"]);
    client.get(&format!("/records/{app}/product/5%2Fx")).await.problem(404);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_producer_sends_for_its_own_app_only(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let (own, foreign) = (an_app(&client, "Own").await, an_app(&client, "Foreign").await);
    let producer = server.key(Role::Producer, Some(&own)).await;
    producer.post("/events", an_event(&own, "1")).await.ok(202);
    let refused = producer.post("/events", json!([an_event(&own, "2"), an_event(&foreign, "2")])).await;
    assert_eq!(refused.pointers(404), ["/1/app_id"]);
    client.get(&format!("/records/{own}/product/2")).await.problem(404);
    client.get(&format!("/records/{foreign}/product/2")).await.problem(404);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn numbers_arrive_unchanged_and_another_spelling_is_not_a_change(pool: PgPool) {
    let (server, client, app) = Server::with_app_and_workers(pool).await;
    let receiver = Receiver::answering(200).await;
    a_webhook(&client, &app, &receiver.url()).await;
    let numbers = "[5,0,-7,18446744073709551615,-9223372036854775808,0.1,0.30000000000000004,122.416294033786585,1e17,1e23,5e-324,\
                   1.7976931348623157e308]";
    let mut event = an_event(&app, "1");
    event["attributes"] = json!({"n": "numbers"});
    let send = async |numbers: &str| {
        let text = event.to_string().replace("\"numbers\"", numbers);
        client.send("/events", Some("application/json"), text).await.ok(202)
    };
    send(numbers).await;
    let (_, body) = receiver.next().await;
    server.recorded(1).await;
    let texts = numbers.trim_matches(['[', ']']).split(',');
    for (sent, text) in body["changes"]["set"]["n"].as_array().unwrap().iter().zip(texts) {
        let is_exact =
            text.parse::<i128>().ok().is_none_or(|integer| sent.to_string().parse() == Ok(integer));
        assert!(is_exact && sent.as_f64() == text.parse().ok(), "{text} became {sent}");
    }
    let spelt = numbers.replace("[5,0,-7,", "[5.0,-0.0,-7e0,").replace("1e17", "100000000000000000");
    let again = send(&spelt).await;
    assert_eq!((&again["unchanged"], &again["jobs_created"]), (&json!(1), &json!(0)));
    assert_eq!(send("[6]").await["records_changed"], 1);
}
