//! Cancels that a worker of an older version did not heed.

use super::world::lead;
use crate::support::{World, end, retried};
use model::{id::JobId, job::JobStatus};
use queue::{
    maintenance::{Cancels, Service as _},
    store::jobs::{Applied, ClaimedJob, Ending, JobSpec},
};
use sqlx::PgPool;
use std::time::Duration;

/// A worker of an older version, which knows of no mark, ends an attempt that failed.
async fn fails_unheeding(pool: &PgPool, id: JobId) {
    let sql = "with put_back as (
            update headgate.jobs set status = 2, retry_at = clock_timestamp(), assignment_id = null, worker_id = null
            where id = $1 and status = 1
            returning id, integration_id, attempt, rank, created_at, retry_at
        ), later as (
            insert into headgate.waiting (due_at, job_id, integration_id) select retry_at, id, integration_id from put_back
        )
        insert into headgate.job_count_deltas (integration_id, status, attempt, n)
        select integration_id, c.status, attempt, c.n from put_back, (values (1, -1), (2, 1)) c (status, n)";
    assert_eq!(sqlx::query(sql).bind(id).execute(pool).await.unwrap().rows_affected(), 2);
}

async fn held(world: &World, spec: JobSpec) -> ClaimedJob {
    let worker = world.worker().await;
    world.accept(&[spec]).await;
    world.claim(worker, 1).await.remove(0)
}

const STOPPED: Ending = Ending::Cancelled { why: "cancelled" };

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_goes_on_although_it_was_called_off_ends_as_cancelled(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let lane = world.lane().await;
    let keyed = || JobSpec { serialize_key: Some("k".into()), ..world.spec(lane) };
    let waits = held(&world, keyed()).await.id;
    let behind = world.accept(&[keyed()]).await[0].id;
    let runs = held(&world, world.spec(lane)).await.id;
    for id in [waits, runs] {
        world.cancel(id).await.unwrap();
        fails_unheeding(&pool, id).await;
        if id == runs {
            world.let_time_pass().await;
        }
    }
    // One of them begins again before anybody looks.
    let worker = world.worker().await;
    let again = world.claim(worker, 10).await;
    let again = again.iter().find(|job| job.id == runs).expect("it was claimed");
    let other = again.attempt;
    assert_eq!(other, 2);
    // The other one was claimed too: its next attempt fails as well.
    fails_unheeding(&pool, waits).await;

    let cancels = Cancels::default();
    assert!(!cancels.run_once(&pool, term).await.unwrap());
    assert_eq!(world.get(waits).await.job.status, JobStatus::Cancelled);
    assert_eq!(world.ready().await, [behind], "the line goes on");
    let asked = world.get(runs).await.job;
    assert_eq!(asked.status, JobStatus::Processing);
    assert!(asked.cancel_requested_at.is_some(), "its worker is asked");
    assert_eq!(world.finish(&[end(again, retried(Duration::ZERO))]).await, [Applied::Cancelled]);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn no_other_job_is_called_off_for_it(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let lane = world.lane().await;
    let change = || JobSpec { deduplication_id: Some("a".into()), ..world.spec(lane) };
    // Called off and still in its worker's hands.
    let slow = held(&world, world.spec(lane)).await;
    world.cancel(slow.id).await.unwrap();
    // Its successor took the row over, mark and all.
    let first = held(&world, change()).await;
    world.cancel(first.id).await.unwrap();
    let successor = world.accept(&[change()]).await[0].id;
    world.finish(&[end(&first, STOPPED)]).await;
    // Requeued after its end.
    let requeued = held(&world, world.spec(lane)).await;
    world.cancel(requeued.id).await.unwrap();
    world.finish(&[end(&requeued, STOPPED)]).await;
    world.requeue(requeued.id).await.unwrap();

    let cancels = Cancels::default();
    let asked_at = world.get(slow.id).await.job.cancel_requested_at;
    cancels.run_once(&pool, term).await.unwrap();
    assert_eq!(world.get(slow.id).await.job.cancel_requested_at, asked_at);
    for id in [successor, requeued.id] {
        assert_eq!(world.get(id).await.job.status, JobStatus::Pending);
    }
    assert_eq!(world.number("select count(*) from headgate.cancel_requests").await, 3);
    sqlx::query("update headgate.cancel_requests set requested_at = requested_at - interval '1 minute'")
        .execute(&pool)
        .await
        .unwrap();
    cancels.run_once(&pool, term).await.unwrap();
    let left: Vec<JobId> =
        sqlx::query_scalar("select job_id from headgate.cancel_requests").fetch_all(&pool).await.unwrap();
    assert_eq!(left, [slow.id], "the others have ended");
    world.must_be_sound().await;
}
