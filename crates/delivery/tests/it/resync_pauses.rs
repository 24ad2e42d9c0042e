//! A paused re-sync parks its own jobs and no others.

use insight::store::explain;
use std::{collections::HashSet, sync::Arc};

use model::id::{IntegrationId, JobId, ResyncId};
use model::job::JobStatus;
use model::resync::{Resync, ResyncState};
use model::rules::explain::ReasonCode;
use queue::store::jobs;
use serde_json::json;
use sqlx::PgPool;
use tokio::sync::Notify;

use crate::resyncs::{get, maintain, products, start};
use crate::support::{Received, Receiver, Reply, Running, World};

const PARKED: &str = "select count(*) from headgate.jobs where is_parked";

async fn pause(world: &World, id: ResyncId) -> Resync {
    let mut transaction = world.pool.begin().await.unwrap();
    let paused = world.delivery.pause_resync(&mut transaction, world.scope, id).await.unwrap();
    transaction.commit().await.unwrap();
    paused
}

async fn resume(world: &World, id: ResyncId) {
    let mut transaction = world.pool.begin().await.unwrap();
    world.delivery.resume_resync(&mut transaction, world.scope, id).await.unwrap();
    transaction.commit().await.unwrap();
    world.delivery.wake();
}

async fn cancel(world: &World, id: ResyncId) {
    let mut transaction = world.pool.begin().await.unwrap();
    world.delivery.cancel_resync(&mut transaction, world.scope, id).await.unwrap();
    transaction.commit().await.unwrap();
}

fn records(requests: &[Received]) -> Vec<String> {
    requests.iter().map(|request| request.json()["record"]["id"].as_str().unwrap().to_owned()).collect()
}

/// The live job of a record.
async fn live_job(world: &World, record_id: &str) -> JobId {
    sqlx::query_scalar("select id from headgate.jobs where record_id = $1")
        .bind(record_id)
        .fetch_one(&world.pool)
        .await
        .unwrap()
}

/// A re-sync of one record, paused while its job waits for the answer: a failure, sent after the notification.
async fn paused_under_way(
    world: &World,
    receiver: &Receiver,
) -> (IntegrationId, ResyncId, Running, Arc<Notify>) {
    world.accept(products(1)).await;
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    let resync = start(world, shop, json!({})).await.unwrap().resync_id;
    let answer = Arc::new(Notify::new());
    receiver.replies([Reply::FailWhen(Arc::clone(&answer))]);
    let running = world.run();
    receiver.next().await;
    pause(world, resync).await;
    (shop, resync, running, answer)
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_paused_resync_sends_nothing_more_and_resumed_sends_the_rest_once(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    for portion in 0..3 {
        world
            .accept((0..400).map(|n| json!({"record_id": format!("{portion}-{n:03}"), "attributes": {}})))
            .await;
    }
    let shop = world.integration(json!({"endpoint_url": receiver.url, "max_concurrency": 4})).await;
    let resync = start(&world, shop, json!({})).await.unwrap().resync_id;
    maintain(&world).await;
    let answers: Vec<Arc<Notify>> = (0..4).map(|_| Arc::default()).collect();
    receiver.replies(answers.iter().map(|answer| Reply::When(Arc::clone(answer))));
    let running = world.run();
    for _ in 0..4 {
        receiver.next().await;
    }

    let paused = pause(&world, resync).await;
    assert_eq!((paused.state, paused.total, paused.eta_seconds), (ResyncState::Paused, 1_200, None));
    assert_eq!(world.number(PARKED).await, 1_000);
    // The process that paused it is gone; the next leader parks the rest.
    maintain(&world.restarted(&["127.0.0.0/8"])).await;
    assert_eq!(world.number(PARKED).await, 1_196);
    answers.iter().for_each(|answer| answer.notify_one());
    running.until(4).await;
    world.accept([json!({"record_id": "live", "attributes": {"a": 1}})]).await;
    running.until(5).await;
    assert_eq!(records(&receiver.rest().await), ["live"]);
    let now = get(&world, resync).await;
    assert_eq!((now.state, now.total, now.done, now.finished_at), (ResyncState::Paused, 1_200, 4, None));

    resume(&world, resync).await;
    maintain(&world).await;
    running.until(1_201).await;
    running.stop().await;
    let rest = records(&receiver.rest().await);
    assert_eq!((rest.len(), rest.iter().collect::<HashSet<_>>().len()), (1_196, 1_196));
    maintain(&world).await;
    let done = get(&world, resync).await;
    assert_eq!((done.state, done.done), (ResyncState::Completed, 1_200));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_go_on_in_their_order(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    world.accept(products(30)).await;
    let shop = world.integration(json!({"endpoint_url": receiver.url, "max_concurrency": 1})).await;
    let resync = start(&world, shop, json!({})).await.unwrap().resync_id;
    pause(&world, resync).await;
    resume(&world, resync).await;
    world.run_until(30).await;
    let sent = records(&receiver.rest().await);
    assert!(sent.len() == 30 && sent.is_sorted(), "{sent:?}");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_record_that_changes_or_waits_with_a_change_is_sent_during_the_pause(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    // One at a time: requests under way together arrive in any order.
    let shop = world.integration(json!({"endpoint_url": receiver.url, "max_concurrency": 1})).await;
    world.accept(products(6)).await;
    world.run_until(6).await;
    receiver.rest().await;
    // One has a change waiting when the re-sync comes.
    world.accept([json!({"record_id": "00000", "attributes": {"n": 10}})]).await;
    let resync = start(&world, shop, json!({})).await.unwrap().resync_id;
    pause(&world, resync).await;
    maintain(&world).await;
    assert_eq!(world.number(PARKED).await, 5);
    world
        .accept([
            json!({"record_id": "00002", "attributes": {"n": 12}}),
            json!({"record_id": "00004", "type": "attribute.update", "attributes": {"n": 14}}),
        ])
        .await;
    // The leader does not park them again.
    maintain(&world).await;
    assert_eq!(world.number(PARKED).await, 3);
    world.run_until(3).await;
    let mut sent = records(&receiver.rest().await);
    assert_eq!(sent[0], "00004", "the urgent one first");
    sent.sort();
    assert_eq!(sent, ["00000", "00002", "00004"]);
    assert_eq!(get(&world, resync).await.done, 3);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_fails_during_the_pause_is_parked_too(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let (_, resync, running, answer) = paused_under_way(&world, &receiver).await;
    answer.notify_one();
    running.until(1).await;
    // At once, before the leader's next run.
    assert_eq!(world.number(PARKED).await, 1);
    world.let_time_pass().await;
    world.accept([json!({"record_id": "live", "attributes": {"a": 1}})]).await;
    running.until(2).await;
    assert_eq!(records(&receiver.rest().await), ["live"]);
    resume(&world, resync).await;
    running.until(3).await;
    running.stop().await;
    assert_eq!(records(&receiver.rest().await), ["00000"]);
    maintain(&world).await;
    assert_eq!(get(&world, resync).await.state, ResyncState::Completed);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_change_behind_a_failed_job_is_not_parked_with_it(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let (shop, _, running, answer) = paused_under_way(&world, &receiver).await;
    world.accept([json!({"record_id": "00000", "attributes": {"n": 5}})]).await;
    answer.notify_one();
    running.until(1).await;
    maintain(&world).await;
    assert_eq!(world.number(PARKED).await, 0);
    running.until(3).await;
    running.stop().await;
    assert_eq!(world.sent(shop).await[0].attributes["n"], json!(5));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_paused_resync_can_be_cancelled(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    for portion in 0..3 {
        world
            .accept((0..400).map(|n| json!({"record_id": format!("{portion}-{n}"), "attributes": {}})))
            .await;
    }
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    let resync = start(&world, shop, json!({})).await.unwrap().resync_id;
    maintain(&world).await;
    pause(&world, resync).await;
    maintain(&world).await;
    world.accept([json!({"record_id": "0-7", "attributes": {"a": 1}})]).await;
    cancel(&world, resync).await;
    maintain(&world).await;
    world.run_until(1).await;
    assert_eq!(records(&receiver.rest().await), ["0-7"]);
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 0);
    assert_eq!(world.number("select count(*) from headgate.batches where is_paused").await, 0);
    assert_eq!(get(&world, resync).await.state, ResyncState::Cancelled);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_parked_job_explains_why_and_runs_alone_when_it_is_requeued(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    world.accept(products(3)).await;
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    let resync = start(&world, shop, json!({})).await.unwrap().resync_id;
    pause(&world, resync).await;
    let id = live_job(&world, "00001").await;
    let why = explain::explain(&world.pool, world.scope, id).await.unwrap();
    assert_eq!(
        (why.state, why.reasons[0].code, why.runs_at),
        (JobStatus::Pending, ReasonCode::ResyncPaused, None)
    );
    assert!(why.reasons[0].detail.contains(&format!("/resyncs/{resync}/resume")));
    assert!(why.reasons.iter().all(|reason| reason.code != ReasonCode::BehindInQueue));

    let mut transaction = world.pool.begin().await.unwrap();
    assert_eq!(jobs::requeue(&mut transaction, world.scope, id).await.unwrap().id, id);
    transaction.commit().await.unwrap();
    maintain(&world).await;
    let mut transaction = world.pool.begin().await.unwrap();
    let off = live_job(&world, "00002").await;
    assert_eq!(jobs::cancel(&mut transaction, world.scope, off).await.unwrap().status, JobStatus::Cancelled);
    transaction.commit().await.unwrap();
    world.run_until(1).await;
    assert_eq!(records(&receiver.rest().await), ["00001"]);
    assert_eq!(world.number(PARKED).await, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_paused_resync_without_jobs_left_is_completed(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    world.accept(products(1)).await;
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    let resync = start(&world, shop, json!({})).await.unwrap().resync_id;
    let answer = Arc::new(Notify::new());
    receiver.replies([Reply::When(Arc::clone(&answer))]);
    let running = world.run();
    receiver.next().await;
    pause(&world, resync).await;
    maintain(&world).await;
    assert_eq!(get(&world, resync).await.state, ResyncState::Paused);
    answer.notify_one();
    running.until(1).await;
    running.stop().await;
    maintain(&world).await;
    let done = get(&world, resync).await;
    assert_eq!((done.state, done.done), (ResyncState::Completed, 1));
    assert!(done.finished_at.is_some());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_cannot_be_parked_or_resumed_stops_no_other(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    world.accept(products(30)).await;
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    let resync = start(&world, shop, json!({})).await.unwrap().resync_id;
    let failing: JobId = sqlx::query_scalar("select id from headgate.jobs order by id offset 7 limit 1")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    let failure = format!(
        "create function rot() returns trigger language plpgsql as $$
        begin
            raise exception 'rotten' using errcode = '22P02';
        end $$;
        create trigger rot before update on headgate.jobs for each row
            when (old.id = '{failing}' and old.is_parked <> new.is_parked) execute function rot();"
    );
    let make_it_fail =
        async || sqlx::raw_sql(sqlx::AssertSqlSafe(failure.clone())).execute(&world.pool).await.unwrap();
    let repair = async || sqlx::raw_sql("drop function rot() cascade").execute(&world.pool).await.unwrap();
    make_it_fail().await;
    assert_eq!(pause(&world, resync).await.state, ResyncState::Paused);
    maintain(&world).await;
    assert_eq!(world.number(PARKED).await, 29);
    repair().await;
    maintain(&world).await;
    assert_eq!(world.number(PARKED).await, 30);
    make_it_fail().await;
    resume(&world, resync).await;
    maintain(&world).await;
    assert_eq!(world.number(PARKED).await, 1);
    repair().await;
    maintain(&world).await;
    assert_eq!(world.number(PARKED).await, 0);
    world.run_until(30).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_cannot_be_cancelled_stops_no_other(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    world.accept(products(30)).await;
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    let resync = start(&world, shop, json!({})).await.unwrap().resync_id;
    world.accept([json!({"record_id": "00002", "attributes": {"n": 12}})]).await;
    let failing = live_job(&world, "00007").await;
    let failure = format!(
        "create function rot() returns trigger language plpgsql as $$
        begin
            raise exception 'rotten' using errcode = '22P02';
        end $$;
        create trigger rot before delete on headgate.jobs for each row when (old.id = '{failing}') execute function rot();"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(failure)).execute(&world.pool).await.unwrap();
    let left = async || world.number("select count(*) from headgate.jobs where batch_id is not null").await;
    let is_open = "select count(*) from headgate.resyncs where is_cancelling";
    cancel(&world, resync).await;
    assert_eq!(get(&world, resync).await.state, ResyncState::Cancelled);
    maintain(&world).await;
    assert_eq!((left().await, world.number(is_open).await), (1, 1));
    assert_eq!(live_job(&world, "00007").await, failing);
    sqlx::raw_sql("drop function rot() cascade").execute(&world.pool).await.unwrap();
    maintain(&world).await;
    assert_eq!((left().await, world.number(is_open).await), (0, 0));
    // The change that had been folded into one of them.
    world.run_until(1).await;
    assert_eq!(records(&receiver.rest().await), ["00002"]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_a_producer_has_locked_is_cancelled_once_it_is_unlocked(pool: PgPool) {
    let world = World::new(pool).await;
    world.accept(products(5)).await;
    let shop = world.integration(json!({"endpoint_url": "https://shop.invalid/"})).await;
    let resync = start(&world, shop, json!({})).await.unwrap().resync_id;
    let locked = live_job(&world, "00003").await;
    let mut producer = world.pool.begin().await.unwrap();
    sqlx::query("select 1 from headgate.jobs where id = $1 for update")
        .bind(locked)
        .execute(&mut *producer)
        .await
        .unwrap();
    let mut transaction = world.pool.begin().await.unwrap();
    sqlx::query("set local lock_timeout = '100ms'").execute(&mut *transaction).await.unwrap();
    world.delivery.cancel_resync(&mut transaction, world.scope, resync).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(live_job(&world, "00003").await, locked);
    assert_eq!(
        world.number("select count(*) from headgate.jobs").await,
        1,
        "the others are not waiting for it"
    );
    producer.rollback().await.unwrap();
    maintain(&world).await;
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 0);
    assert_eq!(world.number("select count(*) from headgate.resyncs where is_cancelling").await, 0);
}

/// More jobs than one request parks or cancels, and no leader.
async fn left_to_the_leader(world: &World, receiver: &Receiver) -> ResyncId {
    world.accept(products(1_000)).await;
    world.accept((0..40).map(|n| json!({"record_id": format!("more {n}"), "attributes": {}}))).await;
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    let resync = start(world, shop, json!({})).await.unwrap().resync_id;
    maintain(world).await;
    resync
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn from_its_commit_on_a_pause_stops_jobs_that_no_leader_has_parked_yet(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let resync = left_to_the_leader(&world, &receiver).await;
    pause(&world, resync).await;
    assert_eq!(world.number(PARKED).await, 1_000);
    let running = world.run();
    world.until("select count(*) = 1040 from headgate.jobs where is_parked").await;
    running.stop().await;
    assert!(records(&receiver.rest().await).is_empty());
    resume(&world, resync).await;
    maintain(&world).await;
    world.run_until(1_040).await;
    assert_eq!(receiver.rest().await.len(), 1_040);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn from_its_commit_on_a_cancel_stops_jobs_that_no_leader_has_cancelled_yet(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let resync = left_to_the_leader(&world, &receiver).await;
    cancel(&world, resync).await;
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 40);
    let running = world.run();
    world.until("select count(*) = 40 from headgate.jobs where is_parked").await;
    running.stop().await;
    maintain(&world).await;
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 0);
    assert_eq!(world.number("select count(*) from headgate.resyncs where is_cancelling").await, 0);
    assert!(receiver.rest().await.is_empty());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_fails_after_its_resync_was_cancelled_is_not_retried(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let (_, resync, running, answer) = paused_under_way(&world, &receiver).await;
    cancel(&world, resync).await;
    maintain(&world).await;
    answer.notify_one();
    world.until("select count(*) = 1 from headgate.jobs where status = 2").await;
    maintain(&world).await;
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 0);
    assert_eq!(world.number("select count(*) from headgate.resyncs where is_cancelling").await, 0);
    running.stop().await;
    assert!(receiver.rest().await.is_empty());
}
