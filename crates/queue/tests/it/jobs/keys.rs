//! Jobs of one serialize key run one at a time, in the order of acceptance.

use crate::support::{World, end, given_up, retried, sent};
use model::id::{IntegrationId, JobId, WorkerId};
use queue::store::jobs::{self, ClaimedJob, JobSpec};
use sqlx::PgPool;
use std::time::Duration;

fn of(world: &World, lane: IntegrationId, key: &str) -> JobSpec {
    JobSpec { serialize_key: Some(key.into()), ..world.spec(lane) }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_key_runs_in_order_one_at_a_time_and_a_waiting_head_keeps_it(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let ids: Vec<_> = world
        .accept(&[
            of(&world, lane, "k"),
            of(&world, lane, "k"),
            of(&world, lane, "other"),
            of(&world, lane, "k"),
        ])
        .await
        .into_iter()
        .map(|job| job.id)
        .collect();
    let claim = async || -> Vec<ClaimedJob> { world.claim(worker, 10).await };
    let leased = claim().await;
    assert_eq!(leased.iter().map(|job| job.id).collect::<Vec<_>>(), [ids[0], ids[2]]);
    world.finish(&[end(&leased[0], retried(Duration::from_secs(60)))]).await;
    assert_eq!(claim().await.len(), 0, "the head waits and keeps the key");
    world.must_be_sound().await;
    world.let_time_pass().await;
    let leased = claim().await;
    assert_eq!(leased[0].id, ids[0]);
    world.finish(&[end(&leased[0], sent())]).await;
    let leased = claim().await;
    assert_eq!(leased.iter().map(|job| job.id).collect::<Vec<_>>(), [ids[1]]);
    // A dead letter frees the key for the next job, and so does a cancel.
    world.finish(&[end(&leased[0], given_up())]).await;
    let later = world.accept(&[of(&world, lane, "k")]).await[0].id;
    world.cancel(ids[3]).await.unwrap();
    let leased = claim().await;
    assert_eq!(leased.iter().map(|job| job.id).collect::<Vec<_>>(), [later]);
    // A requeued job goes to the end of the line.
    world.requeue(ids[1]).await.unwrap();
    assert_eq!(claim().await.len(), 0);
    world.finish(&[end(&leased[0], sent())]).await;
    let leased = claim().await;
    assert_eq!(leased[0].id, ids[1]);
    world.finish(&[end(&leased[0], sent())]).await;
    world.must_be_sound().await;
    assert_eq!(world.number("select count(*) from headgate.serialized_jobs where key = 'k'").await, 0);
    assert_eq!(world.number("select count(*) from headgate.serialize_keys where key = 'k'").await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn many_claimers_keep_the_order_of_every_key(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(1_000, None).await;
    let mut expected = Vec::new();
    for n in 0..60 {
        let key = (n % 4).to_string();
        expected.push((key.clone(), world.accept(&[of(&world, lane, &key)]).await[0].id));
    }
    let order = tokio::sync::Mutex::new(Vec::new());
    let claimer = async || {
        let worker = world.worker().await;
        while order.lock().await.len() < 60 {
            for job in world.claim(worker, 3).await {
                order.lock().await.push((job.serialize_key.clone().unwrap(), job.id));
                world.finish(&[end(&job, sent())]).await;
            }
        }
    };
    tokio::join!(claimer(), claimer(), claimer());
    let order = order.into_inner();
    for key in ["0", "1", "2", "3"] {
        let of_key = |list: &[(String, _)]| {
            list.iter().filter(|(k, _)| k == key).map(|(_, id)| *id).collect::<Vec<JobId>>()
        };
        assert_eq!(of_key(&order), of_key(&expected), "key {key}");
    }
    world.must_be_sound().await;
}

/// A job of the key `k` that is in `ready` twice, under two ranks: a change without a key was folded into it and made it more urgent while the
/// job before it ended and made it the head. (A fold of its own key would wait for that.) The cancel of the job behind it enters the head again,
/// as whenever a job leaves a line.
async fn twice_ready(world: &World, lane: IntegrationId, worker: WorkerId) -> JobId {
    let change = |priority, key: Option<&str>| JobSpec {
        deduplication_id: Some("x".into()),
        serialize_key: key.map(str::to_owned),
        priority,
        ..world.spec(lane)
    };
    world.accept(&[of(world, lane, "k")]).await;
    let before = world.claim(worker, 1).await;
    let id = world.accept(&[change(0, Some("k"))]).await[0].id;
    let behind = world.accept(&[of(world, lane, "k")]).await[0].id;
    let mut fold = world.pool.begin().await.unwrap();
    jobs::enqueue(&mut fold, &[change(50, None)]).await.unwrap();
    world.finish(&[end(&before[0], sent())]).await;
    fold.commit().await.unwrap();
    world.cancel(behind).await.unwrap();
    assert_eq!(world.ready().await, [id, id]);
    id
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_is_ready_twice_begins_once(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let entries = "select count(*) from headgate.ready";
    // Both entries in one claim.
    let id = twice_ready(&world, lane, worker).await;
    let leased = world.claim(worker, 10).await;
    assert_eq!(leased.iter().map(|job| (job.id, job.attempt)).collect::<Vec<_>>(), [(id, 1)]);
    world.must_be_sound().await;
    // The claim may leave the other entry to the next claim, because it has changed the job's row by then.
    assert_eq!(world.claim(worker, 10).await.len(), 0);
    assert_eq!(world.number(entries).await, 0);
    world.finish(&[end(&leased[0], sent())]).await;

    // The other entry is claimed while the job runs, waits for its retry, has ended, or was cancelled.
    for ending in [None, Some(retried(Duration::from_secs(60))), Some(retried(Duration::ZERO)), Some(sent())]
    {
        let id = twice_ready(&world, lane, worker).await;
        let leased = world.claim(worker, 1).await;
        assert_eq!(leased[0].id, id);
        assert_eq!(world.number(entries).await, 1);
        let ends = ending.is_some();
        let begins_again = ending == Some(retried(Duration::ZERO));
        if let Some(ending) = ending {
            world.finish(&[end(&leased[0], ending)]).await;
        }
        let again = world.claim(worker, 10).await;
        assert_eq!(again.len(), usize::from(begins_again));
        assert_eq!(world.claim(worker, 10).await.len(), 0);
        assert_eq!(world.number(entries).await, 0);
        world.must_be_sound().await;
        let last = again.first().unwrap_or(&leased[0]);
        if !ends || begins_again {
            world.finish(&[end(last, sent())]).await;
        } else if world.number("select count(*) from headgate.waiting").await > 0 {
            world.cancel(id).await.unwrap();
        }
        world.must_be_sound().await;
    }
    let id = twice_ready(&world, lane, worker).await;
    world.cancel(id).await.unwrap();
    assert_eq!(world.claim(worker, 10).await.len(), 0);
    for table in ["ready", "waiting", "jobs", "serialize_keys", "serialized_jobs"] {
        let sql = format!("select count(*) from headgate.{table}");
        let rows: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(&pool).await.unwrap();
        assert_eq!(rows, 0, "{table}");
    }
    world.must_be_sound().await;
}
