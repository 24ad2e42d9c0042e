//! The exchanges that are kept of failed attempts.

use std::time::Duration;

use model::{attempt::Attempt, exchange::Exchange, id::IntegrationId, job::JobStatus};
use serde_json::json;
use sqlx::PgPool;

use crate::bundles::{bundle, set};
use crate::support::{Receiver, Reply, World};

/// The attempts of an integration's newest job.
async fn attempts(world: &World, integration: IntegrationId) -> Vec<Attempt> {
    let id = world.jobs(integration).await[0].id;
    queue::store::jobs::get(&world.pool, world.scope, id).await.unwrap().attempts
}

fn header<'a>(exchange: &'a Exchange, name: &str) -> Option<&'a str> {
    let request = exchange.request.as_ref().unwrap();
    request.headers.iter().find(|header| header.name == name).map(|header| header.value.as_str())
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_failed_attempt_keeps_its_request_without_keys_and_what_explains_the_answer(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world
        .integration(json!({
            "integration_type": "rest", "endpoint_url": format!("{}/api?key=s3cret-0", receiver.url),
            "headers": {"x-shop": "s3cret-1"}, "credentials": {"authorization": "Bearer s3cret-2"},
        }))
        .await;
    let said = vec![("x-request-id", "r-7".to_owned()), ("set-cookie", "s3cret-3".to_owned())];
    receiver
        .replies([Reply::With(503, said.clone(), "ü".repeat(3_000)), Reply::With(400, said, String::new())]);
    world.set(json!({"title": "Lamp", "text": "x".repeat(2_000)})).await;
    world.run_until(2).await;
    let sent = receiver.next().await;

    let tried = attempts(&world, shop).await;
    assert_eq!(world.jobs(shop).await[0].status, JobStatus::Failed);
    let first = tried[0].exchange.as_ref().expect("kept as long as attempts are");
    let request = first.request.as_ref().unwrap();
    assert_eq!(request.method, "PUT");
    assert_eq!(request.url, format!("{}/api/product/1?key=[masked]", receiver.url));
    assert_eq!(request.body.bytes, sent.body.len() as u64);
    assert!(request.body.is_cut && sent.body.starts_with(request.excerpt.trim_end_matches('…').as_bytes()));
    assert_eq!((request.jobs, request.excerpt.chars().count()), (1, 1_001));
    for name in ["webhook-id", "webhook-timestamp", "traceparent", "x-correlation-id", "content-type"] {
        assert_eq!(header(first, name), Some(sent.header(name)));
    }
    for name in ["x-shop", "authorization", "webhook-signature"] {
        assert_eq!(header(first, name), Some("[masked]"));
    }
    let answer = first.answer.as_ref().unwrap();
    assert_eq!((answer.header("x-request-id"), answer.header("set-cookie")), (Some("r-7"), None));
    assert_eq!((answer.body.bytes, answer.body.goes_on, answer.body.is_cut), (6_000, false, true));
    assert!(first.timing.connect_ms.is_some() && first.timing.answer_ms.is_some());

    let last = tried[1].exchange.as_ref().expect("kept with the dead letter");
    assert_eq!(last.timing.connect_ms, None, "the connection was open");
    assert_eq!(last.answer.as_ref().unwrap().body.bytes, 0);
    assert!(!serde_json::to_string(&tried).unwrap().contains("s3cret"));
    // Attempts are dropped by the day; a dead letter keeps what ended it.
    sqlx::query("delete from headgate.job_attempts").execute(&world.pool).await.unwrap();
    let kept: Vec<bool> = attempts(&world, shop).await.iter().map(|tried| tried.exchange.is_some()).collect();
    assert_eq!(kept, [false, true]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_attempt_that_succeeds_keeps_no_exchange(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    world.set(json!({"a": 1})).await;
    world.run_until(1).await;
    let tried = attempts(&world, shop).await;
    assert_eq!((tried.len(), tried[0].response_status, &tried[0].exchange), (1, Some(200), &None));
    assert_eq!(world.number("select count(*) from headgate.job_attempts").await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_exchange_shows_how_far_a_request_came(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let nowhere =
        world.integration(json!({"endpoint_url": "http://127.0.0.1:1", "record_types": ["a"]})).await;
    let silent = world
        .integration(json!({"endpoint_url": receiver.url, "record_types": ["b"], "timeout_ms": 300}))
        .await;
    let forbidden =
        world.integration(json!({"endpoint_url": "http://127.0.0.1:1", "record_types": ["c"]})).await;
    receiver.answers(Reply::Hang);
    world.accept(["a", "b"].map(|kind| json!({"record_type": kind, "attributes": {"n": 1}}))).await;
    let running = world.run_with(|config| {
        config.backoff.schedule =
            model::rules::backoff::RetrySchedule::Steps(vec![Duration::from_secs(3_600)]);
    });
    running.until(2).await;
    running.stop().await;
    let world = world.restarted(&[]);
    world.accept([json!({"record_type": "c", "attributes": {"n": 1}})]).await;
    world.run_until(1).await;

    let refused = attempts(&world, nowhere).await.remove(0).exchange.unwrap();
    assert!(refused.request.is_some() && refused.answer.is_none());
    assert!(refused.timing.connect_ms.is_some() && refused.timing.answer_ms.is_none());
    let unanswered = attempts(&world, silent).await.remove(0).exchange.unwrap();
    assert!(unanswered.request.is_some() && unanswered.answer.is_none());
    assert!(unanswered.timing.answer_ms.is_some_and(|ms| ms >= 100), "{:?}", unanswered.timing);
    let unsent = attempts(&world, forbidden).await.remove(0).exchange.unwrap();
    assert_eq!((unsent.request, unsent.answer), (None, None));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_of_one_request_say_so_and_keep_their_own_part(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let made = bundle(&world, &receiver, json!({})).await;
    for id in ["1", "2", "3"] {
        set(&world, id, json!(id)).await;
    }
    receiver.replies([Reply::Status(503)]);
    world.let_time_pass().await;
    let running = world.run_with(|config| {
        config.backoff.schedule =
            model::rules::backoff::RetrySchedule::Steps(vec![Duration::from_secs(3_600)]);
    });
    running.until(3).await;
    running.stop().await;
    let sent = receiver.next().await;
    for job in world.jobs(made.integration.id).await {
        let job = queue::store::jobs::get(&world.pool, world.scope, job.id).await.unwrap();
        let request = job.attempts[0].exchange.as_ref().unwrap().request.as_ref().unwrap();
        assert_eq!((request.jobs, request.body.bytes), (3, sent.body.len() as u64));
        let own = format!(r#""record":{{"type":"product","id":"{}""#, job.job.record_id.unwrap());
        assert!(request.excerpt.contains(&own) && request.excerpt.matches(r#""record""#).count() == 1);
    }
}
