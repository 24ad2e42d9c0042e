//! Jobs cancelled while others claim them, and the jobs behind them.

use crate::support::{World, end, given_up, retried, sent};
use queue::store::jobs::{self, Applied, Ending, JobSpec};
use sqlx::PgPool;
use std::time::Duration;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_claim_passes_over_what_a_cancel_is_deleting(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let ids = world.accept_plain(lane, 3).await;
    // The cancel is not committed yet.
    let mut cancelling = pool.begin().await.unwrap();
    jobs::cancel(&mut cancelling, model::actor::Scope::App(world.app_id), ids[0]).await.unwrap();
    let claimed = tokio::time::timeout(Duration::from_secs(10), world.claim(worker, 10)).await;
    let claimed = claimed.expect("the claim does not wait for the cancel");
    assert_eq!(claimed.iter().map(|job| job.id).collect::<Vec<_>>(), ids[1..]);
    cancelling.rollback().await.unwrap();
    assert_eq!(world.claim(worker, 10).await[0].id, ids[0]);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_successor_with_another_key_runs_when_the_job_before_it_is_cancelled(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let of = |dedup: &str, key: Option<&str>| JobSpec {
        deduplication_id: Some(dedup.into()),
        serialize_key: key.map(str::to_owned),
        ..world.spec(lane)
    };
    world.accept(&[of("a", None), of("b", Some("k1"))]).await;
    let before = world.claim(worker, 10).await;
    let after = world.accept(&[of("a", Some("k2")), of("b", Some("k3"))]).await;
    for job in &before {
        world.cancel(job.id).await.unwrap();
    }
    assert_eq!(world.claim(worker, 10).await.len(), 0, "not while they are processed");
    let stopped = Ending::Cancelled { why: "cancelled" };
    world.finish(&before.iter().map(|job| end(job, stopped.clone())).collect::<Vec<_>>()).await;
    world.must_be_sound().await;
    let claimed = world.claim(worker, 10).await;
    let ids: Vec<_> = claimed.iter().map(|job| job.id).collect();
    assert!(after.iter().all(|job| ids.contains(&job.id)), "both run");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_claimed_job_is_not_cancelled_with_its_batch(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let batch = model::id::BatchId::generate();
    world.accept(&vec![JobSpec { batch_id: Some(batch), ..world.spec(lane) }; 2]).await;
    let leased = world.claim(worker, 1).await;
    let mut transaction = pool.begin().await.unwrap();
    let ended = jobs::cancel_batch_jobs(&mut transaction, batch, "enough", 10).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(ended.len(), 1);
    assert_eq!(world.finish(&[end(&leased[0], sent())]).await, [Applied::Yes]);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_request_that_may_have_arrived_is_remembered_until_a_completion(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let (dead, alive) = (world.worker().await, world.worker().await);
    let spec = JobSpec { deduplication_id: Some("a".into()), ..world.spec(lane) };
    let id = world.accept(std::slice::from_ref(&spec)).await[0].id;
    assert!(!world.claim(dead, 1).await[0].may_have_arrived);
    world.end_lease(dead).await;
    world.recover().await;

    let leased = world.claim(alive, 1).await;
    assert!(leased[0].may_have_arrived);
    world.finish(&[end(&leased[0], retried(Duration::ZERO))]).await;
    let leased = world.claim(alive, 1).await;
    assert!(leased[0].may_have_arrived, "a retry proves nothing");
    world.finish(&[end(&leased[0], given_up())]).await;
    world.requeue(id).await.unwrap();
    let leased = world.claim(alive, 1).await;
    assert!(leased[0].may_have_arrived, "a dead letter keeps it");
    world.accept(&[spec]).await;
    world.finish(&[end(&leased[0], sent())]).await;
    assert!(!world.claim(alive, 1).await[0].may_have_arrived, "a recorded completion settles it");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_a_cancelled_job_may_have_sent_is_remembered_without_its_worker(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let of = |id: &str| JobSpec {
        record: Some(("product".into(), id.into())),
        deduplication_id: Some(id.into()),
        ..world.spec(lane)
    };
    let ids: Vec<_> = world.accept(&[of("runs"), of("followed"), of("waits")]).await;
    let dead = world.worker().await;
    world.claim(dead, 2).await;
    world.accept(&[of("followed")]).await;
    for job in &ids {
        world.cancel(job.id).await.unwrap();
    }
    world.end_lease(dead).await;
    world.recover().await;
    let uncertain = async || -> Vec<(String, Option<Vec<String>>)> {
        let sql = "select record_id, attributes from headgate.uncertain_records order by record_id";
        sqlx::query_as(sql).fetch_all(&pool).await.unwrap()
    };
    assert_eq!(uncertain().await, [("runs".to_owned(), None)], "a successor's own row remembers it");
    // What an earlier attempt may have sent is kept when the job that knew it is cancelled.
    let leased = world.claim(worker, 1).await;
    assert!(leased[0].may_have_arrived);
    world.finish(&[end(&leased[0], retried(Duration::from_secs(60)))]).await;
    world.cancel(leased[0].id).await.unwrap();
    assert_eq!(uncertain().await.len(), 2);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_key_without_jobs_is_forgotten(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let of = |key: &str| JobSpec {
        deduplication_id: Some("a".into()),
        serialize_key: Some(key.into()),
        ..world.spec(lane)
    };
    world.accept(&[of("first")]).await;
    world.accept(&[of("second")]).await;
    assert_eq!(world.number("select count(*) from headgate.serialize_keys").await, 1);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn duplicates_of_one_call_fold_as_those_of_two_calls_do(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let expiry = chrono::DateTime::from_timestamp(4_000_000_000, 0).unwrap();
    let of = |dedup: &str| JobSpec {
        deduplication_id: Some(dedup.into()),
        expires_at: Some(expiry),
        max_attempts: 3,
        timeout_ms: Some(100),
        ..world.spec(lane)
    };
    let later = |dedup: &str| JobSpec {
        expires_at: Some(expiry + chrono::Duration::hours(1)),
        max_attempts: 7,
        timeout_ms: Some(900),
        batch_id: Some(model::id::BatchId(uuid::Uuid::nil())),
        ..of(dedup)
    };
    world.accept(&[of("one"), later("one")]).await;
    world.accept(&[of("two")]).await;
    world.accept(&[later("two")]).await;
    let differing = world
        .number("select count(distinct (expires_at, max_attempts, timeout_ms, batch_id, folded)) from headgate.jobs")
        .await;
    assert_eq!(differing, 1);
    assert_eq!(world.number("select max_attempts::bigint from headgate.jobs limit 1").await, 7);
}
