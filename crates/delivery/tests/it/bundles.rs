//! Changes gathered per window, one request for all of them.

use std::{collections::HashMap, sync::Arc, time::Duration};

use model::id::{IntegrationId, WorkerId};
use model::integration::IntegrationWithSecret;
use model::job::JobStatus;
use queue::store::jobs::{ClaimRequest, claim, recover_lost_leases};
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::sync::Notify;

use crate::sending::signature;
use crate::support::{Received, Receiver, Reply, World, object};

/// A window that ends when a test says so.
const A_DAY: i32 = 86_400;

pub(crate) async fn bundle(world: &World, receiver: &Receiver, fields: Value) -> IntegrationWithSecret {
    let mut all = json!({
        "integration_type": "bundle", "endpoint_url": receiver.url, "bundle_window_seconds": A_DAY, "max_concurrency": 1
    });
    for (name, value) in object(fields) {
        all[name] = value;
    }
    world.try_integration(all).await.unwrap()
}

/// Accepts an event that sets an attribute of a record.
pub(crate) async fn set(world: &World, id: &str, value: Value) {
    world
        .accept([json!({"record_id": id, "attributes": {"a": value}, "correlation_id": format!("c-{id}")})])
        .await;
}

/// The ids of the records in a request.
pub(crate) fn records(request: &Received) -> Vec<String> {
    let body = request.json();
    let items = body["items"].as_array().unwrap();
    items.iter().map(|item| item["record"]["id"].as_str().unwrap().to_owned()).collect()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_changes_of_a_window_are_one_signed_request_in_the_order_of_acceptance(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let made = bundle(&world, &receiver, json!({})).await;
    for (id, value) in [("b", 1), ("c", 1), ("a", 1), ("b", 2)] {
        set(&world, id, json!(value)).await;
    }
    world.accept([json!({"record_id": "z", "type": "attribute.update", "attributes": {"a": 1}})]).await;
    let jobs = world.jobs(made.integration.id).await;
    assert_eq!(jobs.len(), 4, "a record is one item, however often it changed");
    let ends: Vec<i64> = jobs.iter().map(|job| job.run_at.timestamp_micros()).collect();
    assert!(ends.iter().all(|end| end % (i64::from(A_DAY) * 1_000_000) == 0 && *end == ends[0]), "{ends:?}");
    let now = world.number("select extract(epoch from clock_timestamp())::bigint * 1000000").await;
    assert!(now < ends[0] && jobs.iter().all(|job| job.status == JobStatus::Pending));

    world.let_time_pass().await;
    world.run_until(4).await;
    let request = receiver.next().await;
    assert_eq!(records(&request), ["b", "c", "a", "z"]);
    assert_eq!(request.header("webhook-signature"), signature(&made.signing_secret, &request));
    assert_eq!(request.header("content-type"), "application/json");
    assert_eq!(request.header("x-correlation-id"), "c-b", "of the oldest item");
    let body = request.json();
    assert_eq!(
        (body["items"][0]["changes"].clone(), body["items"][0]["full"].clone()),
        (json!({"set": {"a": 2}, "unset": []}), json!(true))
    );
    let own: Vec<&str> =
        body["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
    for job in world.jobs(made.integration.id).await {
        assert_eq!((job.status, job.outcome.as_deref()), (JobStatus::Completed, Some("sent")));
        assert!(own.contains(&job.id.to_string().as_str()));
        assert_ne!(request.header("webhook-id"), job.id.to_string());
    }
    assert_eq!(world.sent(made.integration.id).await.len(), 4);
    assert!(receiver.rest().await.is_empty());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_unchanged_record_is_left_out_and_a_single_item_has_its_jobs_id(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    bundle(&world, &receiver, json!({})).await;
    set(&world, "1", json!(1)).await;
    world.let_time_pass().await;
    world.run_until(1).await;
    receiver.next().await;
    for (id, value) in [("1", 2), ("2", 1), ("1", 1)] {
        set(&world, id, json!(value)).await;
    }
    world.let_time_pass().await;
    world.run_until(2).await;
    let request = receiver.next().await;
    assert_eq!(records(&request), ["2"]);
    assert_eq!(request.header("webhook-id"), request.json()["items"][0]["id"].as_str().unwrap());
    let unchanged =
        "select count(*) from headgate.finished_jobs where outcome = 'unchanged' and record_id = '1'";
    assert_eq!(world.number(unchanged).await, 1);
    assert!(receiver.rest().await.is_empty());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_request_of_many_items_uses_one_slot(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    bundle(&world, &receiver, json!({"rate_limit": {"requests": 1, "per_seconds": 3600}})).await;
    for n in 0..20 {
        set(&world, &n.to_string(), json!(1)).await;
    }
    world.let_time_pass().await;
    let running = world.run_with(|config| config.workers = 40);
    running.until(20).await;
    running.stop().await;
    assert_eq!(records(&receiver.next().await).len(), 20);
    assert_eq!(world.number("select count(*) from headgate.finished_jobs").await, 20);
    assert_eq!(world.number("select used::bigint from headgate.rate_limits").await, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn two_processes_never_send_more_requests_at_once_than_allowed(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    bundle(&world, &receiver, json!({})).await;
    for n in 0..60 {
        set(&world, &n.to_string(), json!(1)).await;
    }
    let answer = Arc::new(Notify::new());
    receiver.replies([Reply::When(Arc::clone(&answer))]);
    world.let_time_pass().await;
    let (one, two) = (world.run(), world.run());
    let first = receiver.next().await;
    // One request is on its way: no worker claims jobs for another.
    let claims = ClaimRequest {
        worker_id: WorkerId::generate(),
        wanted: 50,
        lane_cap: 50,
        busy: HashMap::new(),
        program: None,
    };
    assert!(claim(&world.pool, &claims).await.unwrap().is_empty());
    answer.notify_one();
    world.until("select count(*) = 60 from headgate.finished_jobs").await;
    one.stop().await;
    two.stop().await;
    let mut sent = records(&first);
    sent.extend(receiver.rest().await.iter().flat_map(records));
    sent.sort_unstable_by_key(|id| id.parse::<u32>().unwrap());
    assert_eq!(sent, (0..60).map(|n| n.to_string()).collect::<Vec<_>>());
    assert_eq!(receiver.max_concurrent(), 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_failed_request_is_repeated_with_all_its_items_under_the_same_id(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let made = bundle(&world, &receiver, json!({})).await;
    for id in ["1", "2", "3"] {
        set(&world, id, json!(1)).await;
    }
    receiver.replies([Reply::With(503, vec![], "closed for lunch".into())]);
    world.let_time_pass().await;
    let running = world.run_with(|config| {
        config.backoff.schedule =
            model::rules::backoff::RetrySchedule::Steps(vec![Duration::from_secs(3600)]);
        config.backoff.jitter = 1.0;
    });
    running.until(3).await;
    running.stop().await;
    for job in world.jobs(made.integration.id).await {
        assert_eq!((job.status, job.attempt), (JobStatus::ToBeRetried, 1));
        assert!(job.error_message.unwrap().starts_with("answered 503"));
    }
    // Retries are jittered as always, but all by the same amount.
    let spread = "select (extract(epoch from max(retry_at) - min(retry_at)))::bigint from headgate.jobs";
    assert!(world.number(spread).await < 60);
    let attempts = "select count(*) from headgate.job_attempts where response_status = 503";
    assert_eq!(world.number(attempts).await, 3);

    world.let_time_pass().await;
    world.run_until(3).await;
    let (first, second) = (receiver.next().await, receiver.next().await);
    assert_eq!(records(&first), records(&second));
    assert_eq!(first.header("webhook-id"), second.header("webhook-id"));
    assert_eq!(world.sent(made.integration.id).await.len(), 3);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_process_that_loses_its_lease_during_a_request_loses_no_item(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let made = bundle(&world, &receiver, json!({})).await;
    for id in ["1", "2", "3"] {
        set(&world, id, json!(1)).await;
    }
    receiver.replies([Reply::Hang]);
    world.let_time_pass().await;
    let running = world.run_with(|config| config.heartbeat_interval = Duration::from_millis(200));
    let first = receiver.next().await;
    assert_eq!(records(&first).len(), 3);
    // The process seems to be dead. It notices, registers again as another worker, and the leader recovers the jobs of the old one.
    sqlx::query("delete from headgate.workers").execute(&world.pool).await.unwrap();
    world.until("select count(*) = 1 from headgate.workers").await;
    let mut transaction = world.pool.begin().await.unwrap();
    assert_eq!(recover_lost_leases(&mut transaction, 10).await.unwrap().returned, 3);
    transaction.commit().await.unwrap();
    world.until("select count(*) = 3 from headgate.finished_jobs").await;
    running.stop().await;
    let mut sent: Vec<String> = receiver.rest().await.iter().flat_map(records).collect();
    sent.sort();
    assert_eq!(sent, ["1", "2", "3"], "sent again, since it is not known what arrived");
    assert_eq!(world.sent(made.integration.id).await.len(), 3);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn only_the_item_that_is_refused_alone_is_a_dead_letter(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let made = bundle(&world, &receiver, json!({})).await;
    for n in 0..7 {
        set(&world, &n.to_string(), if n == 4 { json!("poison") } else { json!(n) }).await;
    }
    receiver.answers(Reply::RefuseWith("poison"));
    world.let_time_pass().await;
    world.run_until(7).await;
    let failed: Vec<String> = world
        .jobs(made.integration.id)
        .await
        .into_iter()
        .filter(|job| job.status == JobStatus::Failed)
        .map(|job| job.record_id.unwrap())
        .collect();
    assert_eq!(failed, ["4"]);
    assert_eq!(world.sent(made.integration.id).await.len(), 6);
    let (sent, items): (Value, i64) = sqlx::query_as(
        "select sent_body, jsonb_array_length(sent_body -> 'items')::bigint from headgate.dead_letter_jobs",
    )
    .fetch_one(&world.pool)
    .await
    .unwrap();
    assert_eq!((sent["items"][0]["record"]["id"].clone(), items), (json!("4"), 1));
    let requests = receiver.rest().await;
    assert_eq!(
        requests.iter().map(|request| records(request).len()).collect::<Vec<_>>(),
        [7, 4, 3, 2, 1, 1, 1]
    );
    assert_eq!(receiver.max_concurrent(), 1);
    assert_eq!(world.number("select count(*) from headgate.uncertain_records").await, 0, "certainly refused");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn items_too_large_for_one_request_are_sent_in_several(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    bundle(&world, &receiver, json!({})).await;
    for id in ["1", "2", "3"] {
        set(&world, id, json!("x".repeat(400_000))).await;
    }
    world.let_time_pass().await;
    world.run_until(3).await;
    let requests = receiver.rest().await;
    assert_eq!(requests.iter().map(records).collect::<Vec<_>>(), [vec!["1", "2"], vec!["3"]]);
    assert_eq!(receiver.max_concurrent(), 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_410_pauses_once_and_items_that_were_not_sent_wait(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let made = bundle(&world, &receiver, json!({})).await;
    for id in ["1", "2", "3"] {
        set(&world, id, json!("x".repeat(400_000))).await;
    }
    receiver.replies([Reply::Status(410)]);
    world.let_time_pass().await;
    world.run_until(3).await;
    let state = world.delivery.integration(world.scope, made.integration.id).await.unwrap().state;
    assert_eq!(state, model::integration::IntegrationState::Paused);
    let dead = "select count(*) from headgate.dead_letter_jobs where record_id in ('1', '2')";
    assert_eq!(world.number(dead).await, 2);
    assert_eq!(world.number("select count(*) from headgate.jobs where attempt = 0").await, 1);
    assert_eq!(receiver.rest().await.len(), 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_429_makes_the_integration_quiet_before_the_next_part_is_sent(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    bundle(&world, &receiver, json!({})).await;
    for id in ["1", "2", "3"] {
        set(&world, id, json!("x".repeat(400_000))).await;
    }
    receiver.answers(Reply::With(429, vec![("retry-after", "1000".into())], String::new()));
    world.let_time_pass().await;
    world.run_until(3).await;
    let quiet =
        "select count(*) from headgate.lanes where quiet_until > clock_timestamp() + interval '900 seconds'";
    assert_eq!(world.number(quiet).await, 1);
    let tried =
        "select count(*) from headgate.jobs where record_id in ('1', '2') and status = 2 and attempt = 1";
    assert_eq!(world.number(tried).await, 2);
    assert_eq!(world.number("select count(*) from headgate.jobs where attempt = 0").await, 1);
    assert_eq!(receiver.rest().await.len(), 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn no_job_waits_for_the_end_of_a_longer_previous_window(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let made = bundle(&world, &receiver, json!({})).await;
    set(&world, "1", json!(1)).await;
    let change = async |id: IntegrationId, seconds: i32| {
        world.patch(id, json!({"bundle_window_seconds": seconds})).await;
        world.delivery.apply_shorter_window(id).await;
    };
    change(made.integration.id, 1).await;
    let waiting = "select count(*) from headgate.waiting w join headgate.jobs j on j.id = w.job_id and j.run_at = w.due_at
        where due_at <= clock_timestamp() + interval '1 second'";
    assert_eq!(world.number(waiting).await, 1);
    world.run_until(1).await;
    assert_eq!(records(&receiver.next().await), ["1"]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_bundle_has_a_window_of_five_seconds_by_default(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let fields = json!({"integration_type": "bundle", "endpoint_url": receiver.url});
    let made = world.try_integration(fields).await.unwrap().integration;
    assert_eq!(made.bundle_window_seconds, Some(5));
    let hook = world.try_integration(json!({"endpoint_url": receiver.url})).await.unwrap().integration;
    assert_eq!(hook.bundle_window_seconds, None);
}
