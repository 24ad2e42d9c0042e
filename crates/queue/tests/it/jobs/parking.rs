//! Jobs of a paused batch.

use insight::store::job_lists;
use std::time::Duration;

use crate::support::{World, by_id, end, retried};
use chrono::DateTime;
use model::actor::Scope;
use model::id::{BatchId, IntegrationId, JobId};
use model::job::JobStatus;
use queue::store::jobs::{self, Ending, JobSpec};
use sqlx::PgPool;

async fn batch(world: &World, lane: IntegrationId) -> BatchId {
    let id = BatchId::generate();
    sqlx::query(
        "insert into headgate.batches (id, app_id, integration_id, job_type) values ($1, $2, $3, 'resync')",
    )
    .bind(id)
    .bind(world.app_id)
    .bind(lane)
    .execute(&world.pool)
    .await
    .unwrap();
    id
}

/// A record's job as a re-sync makes it.
fn item(world: &World, lane: IntegrationId, batch_id: BatchId, record: &str) -> JobSpec {
    JobSpec { batch_id: Some(batch_id), priority: -10, ..change(world, lane, record) }
}

/// A live change.
fn change(world: &World, lane: IntegrationId, record: &str) -> JobSpec {
    JobSpec {
        record: Some(("product".into(), record.into())),
        deduplication_id: Some(format!("product/{record}")),
        ..world.spec(lane)
    }
}

async fn set_paused(world: &World, id: BatchId, is_paused: bool) {
    sqlx::query("update headgate.batches set is_paused = $2 where id = $1")
        .bind(id)
        .bind(is_paused)
        .execute(&world.pool)
        .await
        .unwrap();
}

async fn park(world: &World, id: BatchId) -> i64 {
    let mut conn = world.pool.acquire().await.unwrap();
    jobs::park_batch(&mut conn, id, 100).await.unwrap()
}

async fn resume(world: &World, id: BatchId) -> i64 {
    let mut conn = world.pool.acquire().await.unwrap();
    jobs::resume_batch(&mut conn, id, 100).await.unwrap()
}

async fn parked(world: &World) -> i64 {
    world.number("select count(*) from headgate.jobs where is_parked").await
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn parked_jobs_are_not_claimed_and_keep_their_place(pool: PgPool) {
    let world = World::new(&pool).await;
    let (lane, worker) = (world.lane().await, world.worker().await);
    let paused = batch(&world, lane).await;
    let specs: Vec<JobSpec> = (0..5).map(|n| item(&world, lane, paused, &n.to_string())).collect();
    let ids: Vec<JobId> = world.accept(&specs).await.into_iter().map(|job| job.id).collect();
    assert_eq!(park(&world, paused).await, 0, "nobody paused it");
    set_paused(&world, paused, true).await;
    let mut conn = pool.acquire().await.unwrap();
    assert_eq!(jobs::park_batch(&mut conn, paused, 2).await.unwrap(), 2);
    assert_eq!(world.ready().await, ids[2..]);
    assert_eq!((park(&world, paused).await, park(&world, paused).await), (3, 0));
    let plain = world.accept_plain(lane, 1).await;
    let claimed = world.claim(worker, 10).await;
    assert_eq!(claimed.iter().map(|job| job.id).collect::<Vec<_>>(), plain);
    assert_eq!(world.get(ids[0]).await.job.status, JobStatus::Pending);
    world.must_be_sound().await;

    assert_eq!(resume(&world, paused).await, 0, "it is paused");
    set_paused(&world, paused, false).await;
    assert_eq!(jobs::batches_to_resume(&pool).await.unwrap(), [paused]);
    assert_eq!(resume(&world, paused).await, 5);
    assert_eq!(world.ready().await, ids);
    assert!(jobs::batches_to_resume(&pool).await.unwrap().is_empty());
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_parked_job_that_is_changed_or_requeued_runs(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let (paused, other) = (batch(&world, lane).await, batch(&world, lane).await);
    let specs: Vec<JobSpec> = ["a", "b", "c", "d", "e"].map(|one| item(&world, lane, paused, one)).into();
    let ids: Vec<JobId> = world.accept(&specs).await.into_iter().map(|job| job.id).collect();
    set_paused(&world, paused, true).await;
    assert_eq!(park(&world, paused).await, 5);
    world
        .accept(&[
            change(&world, lane, "a"),
            JobSpec { job_type: "attribute.update".into(), ..change(&world, lane, "b") },
            item(&world, lane, other, "c"),
        ])
        .await;
    world.requeue(ids[3]).await.unwrap();
    assert_eq!(world.ready().await, [ids[1], ids[0], ids[2], ids[3]]);
    world.must_be_sound().await;
    // None of them is parked again: they do not belong to the paused batch alone any more.
    assert_eq!(park(&world, paused).await, 0);
    // The one that was moved to another batch is parked with that batch.
    set_paused(&world, other, true).await;
    assert_eq!(park(&world, other).await, 1);
    world.cancel(ids[4]).await.unwrap();
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_that_come_back_from_a_worker_are_parked(pool: PgPool) {
    let world = World::new(&pool).await;
    let (lane, worker) = (world.lane().await, world.worker().await);
    let paused = batch(&world, lane).await;
    let specs: Vec<JobSpec> = ["a", "b", "c"].map(|one| item(&world, lane, paused, one)).into();
    let ids: Vec<JobId> = world.accept(&specs).await.into_iter().map(|job| job.id).collect();
    let claimed = world.claim(worker, 10).await;
    set_paused(&world, paused, true).await;
    assert_eq!(park(&world, paused).await, 0, "what is being processed may finish");
    let released = Ending::Released { until: DateTime::UNIX_EPOCH };
    world
        .finish(&[
            end(by_id(&claimed, ids[0]), retried(Duration::ZERO)),
            end(by_id(&claimed, ids[1]), released),
        ])
        .await;
    assert_eq!(parked(&world).await, 2);
    world.end_lease(worker).await;
    world.recover().await;
    assert_eq!((parked(&world).await, world.ready().await.len()), (3, 0));
    assert_eq!(world.number("select count(*) from headgate.waiting").await, 0);
    world.must_be_sound().await;
    // A job that is requeued by hand starts over and is not parked again.
    world.requeue(ids[0]).await.unwrap();
    assert_eq!((park(&world, paused).await, world.ready().await), (0, vec![ids[0]]));
    set_paused(&world, paused, false).await;
    assert_eq!(resume(&world, paused).await, 2);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_stray_entry_does_not_start_a_parked_job(pool: PgPool) {
    let world = World::new(&pool).await;
    let (lane, worker) = (world.lane().await, world.worker().await);
    let paused = batch(&world, lane).await;
    world.accept(&["a", "b"].map(|one| item(&world, lane, paused, one))).await;
    set_paused(&world, paused, true).await;
    assert_eq!(park(&world, paused).await, 2);
    sqlx::raw_sql(
        "insert into headgate.ready (integration_id, rank, created_at, job_id)
             select integration_id, rank, created_at, id from headgate.jobs where record_id = 'a';
         insert into headgate.waiting (due_at, job_id, integration_id)
             select now(), id, integration_id from headgate.jobs where record_id = 'b';
         select headgate.promote_due(10);",
    )
    .execute(&pool)
    .await
    .unwrap();
    assert!(world.claim(worker, 10).await.is_empty());
    assert!(world.ready().await.is_empty());
    assert_eq!(parked(&world).await, 2);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn parked_jobs_that_are_to_be_retried_are_found_by_their_status(pool: PgPool) {
    let world = World::new(&pool).await;
    let (lane, worker) = (world.lane().await, world.worker().await);
    let paused = batch(&world, lane).await;
    let ids = world.accept(&[item(&world, lane, paused, "a")]).await;
    let claimed = world.claim(worker, 1).await;
    world.finish(&[end(&claimed[0], retried(Duration::from_secs(3_600)))]).await;
    set_paused(&world, paused, true).await;
    assert_eq!(park(&world, paused).await, 1);
    let filter = model::filter::JobFilter { status: Some(JobStatus::ToBeRetried), ..Default::default() };
    let page = model::page::PageRequest { limit: 10, after: None };
    let found = job_lists::list(&pool, Scope::AllApps, &filter, page).await.unwrap().items;
    assert_eq!(found.iter().map(|job| job.id).collect::<Vec<_>>(), [ids[0].id]);
    set_paused(&world, paused, false).await;
    assert_eq!(resume(&world, paused).await, 1);
    assert_eq!(
        world
            .number("select count(*) from headgate.waiting where due_at > now() + interval '50 minutes'")
            .await,
        1
    );
    world.must_be_sound().await;
}

/// With the short claim and with the long one.
#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn no_job_of_a_paused_batch_begins_even_before_it_is_parked(pool: PgPool) {
    for count in [3_i64, 60] {
        let world = World::new(&pool).await;
        let (lane, worker) = (world.lane_with(1_000, None).await, world.worker().await);
        let paused = batch(&world, lane).await;
        let specs: Vec<JobSpec> = (0..count).map(|n| item(&world, lane, paused, &n.to_string())).collect();
        let ids: Vec<JobId> = world.accept(&specs).await.into_iter().map(|job| job.id).collect();
        let claimed = world.claim(worker, 2).await;
        world.finish(&[end(by_id(&claimed, ids[0]), retried(Duration::ZERO))]).await;
        // A stray entry for a job that runs.
        sqlx::query(
            "insert into headgate.ready (integration_id, rank, created_at, job_id)
             select integration_id, rank, created_at, id from headgate.jobs where id = $1",
        )
        .bind(ids[1])
        .execute(&pool)
        .await
        .unwrap();
        // A live change still runs, with the batch's job it was folded into.
        world.accept(&[change(&world, lane, "2")]).await;
        set_paused(&world, paused, true).await;
        let begun = world.claim(worker, 1_000).await;
        assert_eq!(begun.iter().map(|job| job.id).collect::<Vec<_>>(), [ids[2]], "of {count}");
        assert_eq!((world.ready().await.len(), parked(&world).await), (0, count - 2));
        world.must_be_sound().await;
        assert_eq!(world.get(ids[1]).await.job.status, JobStatus::Processing);
        set_paused(&world, paused, false).await;
        assert_eq!(resume(&world, paused).await, count - 2);
        assert_eq!(world.claim(worker, 1_000).await.len(), usize::try_from(count).unwrap() - 2);
        world.must_be_sound().await;
    }
}
