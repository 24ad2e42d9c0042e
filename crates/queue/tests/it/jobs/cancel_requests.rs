//! Jobs cancelled while they are processed: no job of their record or key begins before their worker has released them.

use crate::support::{World, end, given_up, retried, sent};
use insight::store::explain;
use model::actor::Scope;
use model::attempt::AttemptOutcome;
use model::id::{IntegrationId, JobId, WorkerId};
use model::job::JobStatus;
use model::rules::explain::ReasonCode;
use queue::QueueError;
use queue::store::jobs::{Applied, ClaimedJob, Ending, JobSpec, Recovered};
use sqlx::PgPool;
use std::time::Duration;

/// A change of the record `dedup` with the serialize key `key`.
fn change(world: &World, lane: IntegrationId, dedup: &str, key: &str) -> JobSpec {
    JobSpec {
        deduplication_id: Some(dedup.into()),
        record: Some(("product".into(), dedup.into())),
        serialize_key: Some(key.into()),
        ..world.spec(lane)
    }
}

const STOPPED: Ending = Ending::Cancelled { why: "cancelled" };

/// A job that is cancelled while it is processed, and behind it one of its record and one of its key.
async fn cancelled_while_processed(
    world: &World,
    lane: IntegrationId,
    worker: WorkerId,
    name: &str,
) -> (ClaimedJob, JobId, JobId) {
    let key = format!("key of {name}");
    world.accept(&[change(world, lane, name, &key)]).await;
    let leased = world.claim(worker, 1).await.remove(0);
    let behind_key = world.accept(&[change(world, lane, &format!("{name} 2"), &key)]).await[0].id;
    let job = world.cancel(leased.id).await.unwrap();
    assert_eq!((job.id, job.status), (leased.id, JobStatus::Processing));
    assert!(job.cancel_requested_at.is_some());
    // Accepted during the cancel.
    let successor = world.accept(&[change(world, lane, name, &format!("{key}, after it"))]).await[0].id;
    assert_ne!(successor, leased.id);
    assert_eq!(world.claim(worker, 10).await.len(), 0, "neither may run while it is processed");
    world.must_be_sound().await;
    (leased, successor, behind_key)
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_behind_a_cancelled_one_begin_when_its_worker_has_released_it(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let endings = [
        STOPPED,
        sent(),
        retried(Duration::ZERO),
        given_up(),
        Ending::Released { until: chrono::DateTime::UNIX_EPOCH },
    ];
    for (n, ending) in endings.into_iter().enumerate() {
        let (leased, successor, behind_key) =
            cancelled_while_processed(&world, lane, worker, &n.to_string()).await;
        assert!(world.finish(&[end(&leased, ending)]).await[0].is_recorded());
        world.must_be_sound().await;
        let next = world.claim(worker, 10).await;
        let ids: Vec<JobId> = next.iter().map(|job| job.id).collect();
        assert!(ids.len() == 2 && ids.contains(&successor) && ids.contains(&behind_key), "{n}: {ids:?}");
        for id in ids {
            assert_eq!(world.get(id).await.job.cancel_requested_at, None, "nobody cancelled these");
        }
        world.finish(&next.iter().map(|job| end(job, sent())).collect::<Vec<_>>()).await;
        world.must_be_sound().await;
    }
    for table in ["jobs", "ready", "waiting", "serialize_keys", "serialized_jobs"] {
        let sql = format!("select count(*) from headgate.{table}");
        let rows: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(&pool).await.unwrap();
        assert_eq!(rows, 0, "{table}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_happened_to_a_cancelled_job_is_recorded(pool: PgPool) {
    use AttemptOutcome::{Cancelled as Stopped, Completed as Did, Failed};
    use JobStatus::{Cancelled, Completed};
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    for (ending, applied, status, outcome, attempts) in [
        (sent(), Applied::Yes, Completed, "sent", vec![Did]),
        (STOPPED, Applied::Yes, Cancelled, "cancelled", vec![Stopped]),
        (retried(Duration::from_secs(60)), Applied::Cancelled, Cancelled, "cancelled", vec![Failed]),
        (given_up(), Applied::Cancelled, Cancelled, "cancelled", vec![Failed]),
        (
            Ending::Released { until: chrono::DateTime::UNIX_EPOCH },
            Applied::Cancelled,
            Cancelled,
            "cancelled",
            vec![Stopped],
        ),
    ] {
        let id = world.accept_plain(lane, 1).await[0];
        let leased = world.claim(worker, 1).await.remove(0);
        world.cancel(id).await.unwrap();
        assert_eq!(world.finish(&[end(&leased, ending.clone())]).await, [applied], "{ending:?}");
        let found = world.get(id).await;
        assert_eq!((found.job.status, found.job.outcome.as_deref()), (status, Some(outcome)), "{ending:?}");
        assert_eq!(found.job.cancelled_at.is_some(), status == Cancelled);
        assert_eq!(found.attempts.iter().map(|one| one.outcome).collect::<Vec<_>>(), attempts, "{ending:?}");
        assert!(found.attempts[0].finished_at.is_some() && found.attempts[0].next_wait_reason.is_none());
        assert_eq!(world.finish(&[end(&leased, sent())]).await, [Applied::AlreadyDone]);
        world.must_be_sound().await;
    }
    assert_eq!(world.number("select count(*) from headgate.dead_letter_jobs").await, 0);
    let counted = world.number("select sum(cancelled)::bigint from headgate.throughput_deltas").await;
    assert_eq!(counted, 4);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn cancelling_again_changes_nothing_and_a_requeue_is_refused(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let id = world.accept_plain(lane, 1).await[0];
    let leased = world.claim(worker, 1).await;
    let first = world.cancel(id).await.unwrap();
    assert_eq!(world.cancel(id).await.unwrap(), first);
    assert!(matches!(
        world.requeue(id).await,
        Err(QueueError::WrongState { status: JobStatus::Processing, .. })
    ));
    let explained = explain::explain(&pool, Scope::AllApps, id).await.unwrap();
    assert_eq!(explained.reasons[0].code, ReasonCode::CancelRequested);
    world.finish(&[end(&leased[0], STOPPED)]).await;
    assert!(matches!(world.cancel(id).await, Err(QueueError::WrongState { .. })));
    assert_eq!(world.requeue(id).await.unwrap().status, JobStatus::Pending);
    let again = world.claim(worker, 1).await;
    assert_eq!(world.get(id).await.job.cancel_requested_at, None, "that was another attempt");
    assert_eq!(world.finish(&[end(&again[0], retried(Duration::ZERO))]).await, [Applied::Yes]);
    assert_eq!(world.get(id).await.job.status, JobStatus::Retrying);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_cancelled_job_whose_worker_is_lost_is_not_tried_again(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let (dead, alive) = (world.worker().await, world.worker().await);
    let (leased, successor, behind_key) = cancelled_while_processed(&world, lane, dead, "followed").await;
    world.accept(&[change(&world, lane, "alone", "another key")]).await;
    let alone = world.claim(dead, 1).await.remove(0);
    world.cancel(alone.id).await.unwrap();
    world.end_lease(dead).await;
    assert_eq!(world.recover().await, Recovered { cancelled: 2, ..Recovered::default() });
    world.must_be_sound().await;
    for id in [leased.id, alone.id] {
        let found = world.get(id).await;
        assert_eq!(found.job.status, JobStatus::Cancelled);
        assert_eq!(found.attempts.iter().map(|one| one.outcome).collect::<Vec<_>>(), [AttemptOutcome::Lost]);
    }
    assert_eq!(world.finish(&[end(&alone, sent())]).await, [Applied::AlreadyDone]);
    // Its request may have arrived: its successor is told, or else the next job of the record.
    let uncertain: Vec<String> = sqlx::query_scalar("select record_id from headgate.uncertain_records")
        .fetch_all(&pool)
        .await
        .unwrap();
    assert_eq!(uncertain, ["alone"]);
    let next = world.claim(alive, 10).await;
    assert_eq!(next.len(), 2);
    for job in next {
        assert!(job.id == successor && job.may_have_arrived || job.id == behind_key, "{}", job.id);
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_request_that_may_have_arrived_is_remembered_when_the_job_is_released(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let (dead, alive) = (world.worker().await, world.worker().await);
    let id = world.accept(&[change(&world, lane, "a", "k")]).await[0].id;
    world.claim(dead, 1).await;
    world.end_lease(dead).await;
    world.recover().await;
    let leased = world.claim(alive, 1).await;
    assert!(leased[0].may_have_arrived);
    world.cancel(id).await.unwrap();
    let released = Ending::Released { until: chrono::DateTime::UNIX_EPOCH };
    assert_eq!(world.finish(&[end(&leased[0], released)]).await, [Applied::Cancelled]);
    assert_eq!(
        world.number("select count(*) from headgate.uncertain_records where record_id = 'a'").await,
        1
    );
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_and_those_behind_it_can_be_cancelled_together(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let (leased, successor, behind_key) = cancelled_while_processed(&world, lane, worker, "a").await;
    for id in [successor, behind_key] {
        assert_eq!(world.cancel(id).await.unwrap().status, JobStatus::Cancelled);
        world.must_be_sound().await;
    }
    assert!(world.get(leased.id).await.job.cancel_requested_at.is_some());
    world.finish(&[end(&leased, STOPPED)]).await;
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 0);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_cancelled_job_takes_over_no_work_from_a_dead_letter(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let spec = JobSpec { deduplication_id: Some("a".into()), ..world.spec(lane) };
    let dead = world.accept(std::slice::from_ref(&spec)).await[0].id;
    let leased = world.claim(worker, 1).await;
    world.finish(&[end(&leased[0], given_up())]).await;
    let newer = world.accept(&[spec]).await[0].id;
    let leased = world.claim(worker, 1).await;
    world.cancel(newer).await.unwrap();
    assert_eq!(world.requeue(dead).await.unwrap().id, dead, "it waits behind the one that ends");
    assert_eq!(world.claim(worker, 1).await.len(), 0);
    world.finish(&[end(&leased[0], STOPPED)]).await;
    assert_eq!(world.claim(worker, 1).await[0].id, dead);
    world.must_be_sound().await;
}
