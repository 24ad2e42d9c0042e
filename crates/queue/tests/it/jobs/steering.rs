//! Cancel, requeue, purge, explain.

use crate::support::{World, end, given_up, retried, sent};
use insight::store::{explain, job_lists};
use model::actor::Scope;
use model::id::{AppId, JobId};
use model::job::JobStatus;
use model::rules::explain::ReasonCode;
use queue::QueueError;
use queue::store::jobs::{self, Ending, JobSpec};
use queue::store::{dead_letters, lanes};
use sqlx::PgPool;
use std::time::Duration;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_is_cancelled_in_whatever_state_it_is(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let spec = |id: &str| JobSpec { deduplication_id: Some(id.into()), ..world.spec(lane) };
    let ids: Vec<JobId> =
        world.accept(&[spec("runs"), spec("retries")]).await.into_iter().map(|job| job.id).collect();
    let leased = world.claim(worker, 2).await;
    world.finish(&[end(&leased[1], retried(Duration::from_secs(60)))]).await;
    let pending = world.accept(&[spec("waits")]).await[0].id;
    let later = chrono::Utc::now() + chrono::Duration::hours(1);
    let scheduled = world.accept(&[JobSpec { run_at: Some(later), ..spec("later") }]).await[0].id;
    let successor = world.accept(&[spec("runs")]).await[0].id;
    for id in [ids[1], pending, scheduled, successor] {
        let job = world.cancel(id).await.unwrap();
        assert_eq!((job.id, job.status), (id, JobStatus::Cancelled));
        assert!(matches!(
            world.cancel(id).await,
            Err(QueueError::WrongState { status: JobStatus::Cancelled, .. })
        ));
        world.must_be_sound().await;
    }
    // A running one is cancelled when its worker has stopped.
    assert_eq!(world.cancel(ids[0]).await.unwrap().status, JobStatus::Processing);
    world.finish(&[end(&leased[0], Ending::Cancelled { why: "cancelled" })]).await;
    assert_eq!(world.get(ids[0]).await.job.status, JobStatus::Cancelled);
    world.must_be_sound().await;
    for table in ["jobs", "ready", "waiting"] {
        let sql = format!("select count(*) from headgate.{table}");
        let rows: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(&pool).await.unwrap();
        assert_eq!(rows, 0, "{table}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn cancelling_the_running_job_lets_its_successor_run(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let spec = JobSpec { deduplication_id: Some("a".into()), ..world.spec(lane) };
    let first = world.accept(std::slice::from_ref(&spec)).await[0].id;
    let leased = world.claim(worker, 1).await;
    let second = world.accept(&[spec]).await[0].id;
    world.cancel(first).await.unwrap();
    assert_eq!(world.claim(worker, 1).await.len(), 0, "not while it is processed");
    world.finish(&[end(&leased[0], Ending::Cancelled { why: "cancelled" })]).await;
    assert_eq!(world.claim(worker, 1).await[0].id, second);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_requeued_job_keeps_its_id_and_gets_all_attempts_again(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let ids = world.accept_plain(lane, 3).await;
    let leased = world.claim(worker, 3).await;
    world.finish(&[end(&leased[0], given_up()), end(&leased[1], retried(Duration::from_secs(60)))]).await;
    world.cancel(ids[2]).await.unwrap();
    world.finish(&[end(&leased[2], Ending::Cancelled { why: "cancelled" })]).await;
    for id in &ids {
        let job = world.requeue(*id).await.unwrap();
        assert_eq!((job.id, job.status, job.attempt, job.max_attempts), (*id, JobStatus::Pending, 0, 10));
        assert!(matches!(world.requeue(*id).await, Err(QueueError::WrongState { .. })));
    }
    world.must_be_sound().await;
    let leased = world.claim(worker, 10).await;
    assert_eq!(leased.len(), 3);
    world.finish(&leased.iter().map(|job| end(job, sent())).collect::<Vec<_>>()).await;
    let attempts = world.get(ids[0]).await.attempts;
    assert_eq!(attempts.len(), 2, "the failed attempt and the successful one");
    assert!(matches!(
        world.requeue(ids[0]).await,
        Err(QueueError::WrongState { status: JobStatus::Completed, wanted: "requeued" })
    ));
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_live_duplicate_takes_over_the_work_of_a_requeued_job(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let spec = JobSpec { deduplication_id: Some("a".into()), ..world.spec(lane) };
    for is_dead in [true, false] {
        let first = world.accept(std::slice::from_ref(&spec)).await[0].id;
        if is_dead {
            let leased = world.claim(worker, 1).await;
            world.finish(&[end(&leased[0], given_up())]).await;
        } else {
            world.cancel(first).await.unwrap();
        }
        let duplicate = world.accept(std::slice::from_ref(&spec)).await[0].id;
        assert_ne!(first, duplicate);
        assert_eq!(world.requeue(first).await.unwrap().id, duplicate);
        let job = world.get(first).await.job;
        assert_eq!(job.status, JobStatus::Cancelled);
        assert_eq!(job.outcome, Some(format!("coalesced into {duplicate}")));
        world.must_be_sound().await;
        let leased = world.claim(worker, 1).await;
        world.finish(&[end(&leased[0], sent())]).await;
    }
    assert_eq!(world.number("select count(*) from headgate.dead_letter_jobs").await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn foreign_jobs_and_dead_letters_are_not_found(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let ids = world.accept_plain(lane, 2).await;
    let leased = world.claim(worker, 1).await;
    world.finish(&[end(&leased[0], given_up())]).await;
    let dead =
        insight::store::dead_letters::list(&pool, Scope::AllApps, &Default::default(), Default::default())
            .await
            .unwrap()
            .items;
    let foreign = Scope::App(AppId::generate());
    let mut connection = pool.acquire().await.unwrap();
    let refused = [
        jobs::get(&pool, foreign, ids[0]).await.err(),
        explain::explain(&pool, foreign, ids[1]).await.err(),
        jobs::cancel(&mut connection, foreign, ids[1]).await.err(),
        jobs::requeue(&mut connection, foreign, ids[0]).await.err(),
        insight::store::dead_letters::get(&pool, foreign, dead[0].id).await.err(),
        dead_letters::requeue(&mut connection, foreign, dead[0].id).await.err(),
        dead_letters::purge(&mut connection, foreign, dead[0].id).await.err(),
    ];
    for (index, error) in refused.iter().enumerate() {
        assert!(matches!(error, Some(QueueError::NotFound)), "{index}: {error:?}");
    }
    dead_letters::purge(&mut connection, Scope::App(world.app_id), dead[0].id).await.unwrap();
    assert!(matches!(jobs::get(&pool, Scope::AllApps, ids[0]).await, Err(QueueError::NotFound)));
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn explain_names_what_a_job_waits_for(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(1, None).await;
    let ids = world.accept_plain(lane, 3).await;
    let codes = async |id| -> Vec<ReasonCode> {
        let explained = explain::explain(&pool, Scope::AllApps, id).await.unwrap();
        explained.reasons.into_iter().map(|reason| reason.code).collect()
    };
    assert_eq!(codes(ids[0]).await, [ReasonCode::NoWorker]);
    let worker = world.worker().await;
    assert_eq!(codes(ids[0]).await, [ReasonCode::NextInLine]);
    assert_eq!(codes(ids[2]).await, [ReasonCode::BehindInQueue]);
    world.claim(worker, 1).await;
    assert_eq!(codes(ids[1]).await, [ReasonCode::ConcurrencyFull]);
    let other = world.lane().await;
    let spec = JobSpec { deduplication_id: Some("a".into()), ..world.spec(other) };
    world.accept(std::slice::from_ref(&spec)).await;
    world.claim(worker, 1).await;
    let successor = world.accept(&[spec]).await[0].id;
    assert_eq!(codes(successor).await, [ReasonCode::BehindInQueue]);
    let mut connection = pool.acquire().await.unwrap();
    lanes::set_quiet(&mut connection, lane, Duration::from_secs(60)).await.unwrap();
    assert_eq!(codes(ids[1]).await, [ReasonCode::HeldByReceiver, ReasonCode::ConcurrencyFull]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn own_workers_do_not_count_for_a_job_of_external_workers(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    sqlx::query("update headgate.lanes set is_external = true").execute(&pool).await.unwrap();
    let id = world.accept_plain(lane, 1).await[0];
    world.worker().await;
    let explained = explain::explain(&pool, Scope::AllApps, id).await.unwrap();
    assert_eq!(
        explained.reasons.iter().map(|reason| reason.code).collect::<Vec<_>>(),
        [ReasonCode::NoWorker]
    );
    assert!(explained.reasons[0].detail.contains("external worker") && explained.runs_at.is_none());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn finished_jobs_of_a_deleted_app_are_not_found(pool: PgPool) {
    let (world, other) = (World::new(&pool).await, World::new(&pool).await);
    let (lane, kept) = (world.lane().await, other.lane().await);
    let id = world.accept_plain(lane, 1).await[0];
    world.cancel(id).await.unwrap();
    let kept_id = other.accept_plain(kept, 1).await[0];
    other.cancel(kept_id).await.unwrap();
    sqlx::query("delete from headgate.integrations").execute(&pool).await.unwrap();
    let listed = async || {
        let page =
            job_lists::list(&pool, Scope::AllApps, &Default::default(), Default::default()).await.unwrap();
        page.items.into_iter().map(|job| job.id).collect::<Vec<_>>()
    };
    assert_eq!(listed().await, [kept_id, id], "an app keeps what its deleted integrations did");
    sqlx::query("delete from headgate.apps where id = $1").bind(world.app_id).execute(&pool).await.unwrap();
    assert_eq!(listed().await, [kept_id]);
    assert!(matches!(jobs::get(&pool, Scope::AllApps, id).await, Err(QueueError::NotFound)));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_of_a_deleted_integration_are_cancelled_with_their_successors(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let spec = |id: &str| JobSpec {
        deduplication_id: Some(id.into()),
        serialize_key: Some("k".into()),
        ..world.spec(lane)
    };
    world.accept(&[spec("a"), spec("b")]).await;
    world.claim(worker, 1).await;
    world.accept(&[spec("a")]).await;
    let mut transaction = pool.begin().await.unwrap();
    assert_eq!(jobs::cancel_integration_jobs(&mut transaction, lane, 100).await.unwrap(), 3);
    assert_eq!(jobs::cancel_integration_jobs(&mut transaction, lane, 100).await.unwrap(), 0);
    transaction.commit().await.unwrap();
    world.must_be_sound().await;
    assert_eq!(world.number("select count(*) from headgate.serialize_keys").await, 0);
}
