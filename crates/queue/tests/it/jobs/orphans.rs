//! Jobs that a worker has leased without knowing it (orphans) are released; a worker that knows all of its jobs waits for no claim.

use crate::support::{World, until};
use model::job::JobStatus;
use queue::store::jobs::{ClaimedJob, OwnClaims, release_orphans};
use sqlx::PgPool;
use std::collections::HashMap;

const IS_WAITING_FOR_ITS_TURN: &str = "select exists (
    select 1 from pg_locks l join pg_database d on d.oid = l.database
    where d.datname = current_database() and l.locktype = 'advisory' and not l.granted)";

/// The claims whose answers this process received.
fn answered(claims: &[&[ClaimedJob]]) -> OwnClaims {
    OwnClaims { batches: claims.iter().map(|jobs| jobs[0].claim_batch_id).collect(), ..OwnClaims::default() }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_worker_that_knows_all_its_jobs_waits_for_no_claim(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    world.accept_plain(lane, 3).await;
    let claimed = world.claim(worker, 3).await;

    // Another process claims, and takes its time.
    let mut turn = pool.begin().await.unwrap();
    sqlx::query("select pg_advisory_xact_lock(4711, 1)").execute(&mut *turn).await.unwrap();
    assert!(release_orphans(&pool, worker, &answered(&[&claimed])).await.unwrap().is_empty());

    // Orphans are looked for when it is our turn.
    let nothing = OwnClaims::default();
    let (released, ()) = tokio::join!(release_orphans(&pool, worker, &nothing), async {
        until(&pool, IS_WAITING_FOR_ITS_TURN).await;
        turn.rollback().await.unwrap();
    });
    assert_eq!(released.unwrap().len(), 3);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_claim_that_is_still_under_way_on_a_broken_connection_is_waited_for(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let job = world.accept_plain(lane, 1).await[0];
    let mut broken = pool.begin().await.unwrap();
    sqlx::query("select pg_advisory_xact_lock(4711, 1)").execute(&mut *broken).await.unwrap();
    let own_claims = OwnClaims { is_claim_open: true, ..OwnClaims::default() };
    let (released, ()) = tokio::join!(release_orphans(&pool, worker, &own_claims), async {
        // It waits before it reads, so what is committed now is found.
        until(&pool, IS_WAITING_FOR_ITS_TURN).await;
        sqlx::query(
            "with claimed as (
                update headgate.jobs set status = 1, attempt = 1, assignment_id = gen_random_uuid(), worker_id = $1, started_at = now()
                returning id
            ), gone as (
                delete from headgate.ready
            ), counted as (
                insert into headgate.job_count_deltas (integration_id, status, attempt, n) values ($2, 0, 0, -1), ($2, 1, 1, 1)
            )
            insert into headgate.claim_batches (id, worker_id, job_ids) select gen_random_uuid(), $1, array_agg(id) from claimed",
        )
        .bind(worker)
        .bind(lane)
        .execute(&mut *broken)
        .await
        .unwrap();
        broken.commit().await.unwrap();
    });
    assert_eq!(released.unwrap().len(), 1);
    assert_eq!(world.get(job).await.job.status, JobStatus::Pending);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_stuck_job_is_released_alone_and_running_ones_are_kept(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    world.accept_plain(lane, 4).await;
    let (first, second) = (world.claim(worker, 2).await, world.claim(worker, 2).await);
    let stuck = (first[0].assignment_id, first[0].claim_batch_id);
    let answered = OwnClaims {
        running: vec![second[0].assignment_id],
        stuck: HashMap::from([stuck]),
        // The answer of the second claim was lost, and one of its jobs runs all the same.
        ..answered(&[&first])
    };
    let mut released = release_orphans(&pool, worker, &answered).await.unwrap();
    released.sort();
    let mut expected = [first[0].assignment_id, second[1].assignment_id];
    expected.sort();
    assert_eq!(released, expected);
    assert_eq!(world.number("select count(*) from headgate.jobs where status = 1").await, 2);
    world.must_be_sound().await;
}
