//! Jobs a worker holds without knowing go back; a worker that knows all of its jobs is in nobody's way.

use crate::support::{World, until};
use model::job::JobStatus;
use queue::store::jobs::{ClaimedJob, OwnClaims, release_orphans};
use sqlx::PgPool;
use std::collections::HashMap;

const WAITS_FOR_ITS_TURN: &str = "select exists (
    select 1 from pg_locks l join pg_database d on d.oid = l.database
    where d.datname = current_database() and l.locktype = 'advisory' and not l.granted)";

/// The answers this process got.
fn known(claims: &[&[ClaimedJob]]) -> OwnClaims {
    OwnClaims { batches: claims.iter().map(|jobs| jobs[0].claim_batch_id).collect(), ..OwnClaims::default() }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn who_knows_all_its_jobs_waits_for_no_claim(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    world.accept_plain(lane, 3).await;
    let claimed = world.claim(worker, 3).await;

    // Another process claims, and takes its time.
    let mut turn = pool.begin().await.unwrap();
    sqlx::query("select pg_advisory_xact_lock(4711, 1)").execute(&mut *turn).await.unwrap();
    assert!(release_orphans(&pool, worker, &known(&[&claimed])).await.unwrap().is_empty());

    // What nobody knows is looked at when it is our turn.
    let nothing = OwnClaims::default();
    let (given_back, ()) = tokio::join!(release_orphans(&pool, worker, &nothing), async {
        until(&pool, WAITS_FOR_ITS_TURN).await;
        turn.rollback().await.unwrap();
    });
    assert_eq!(given_back.unwrap().len(), 3);
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
    let unsure = OwnClaims { is_claim_open: true, ..OwnClaims::default() };
    let (given_back, ()) = tokio::join!(release_orphans(&pool, worker, &unsure), async {
        // It waits before it looks: what is committed now is found.
        until(&pool, WAITS_FOR_ITS_TURN).await;
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
    assert_eq!(given_back.unwrap().len(), 1);
    assert_eq!(world.get(job).await.job.status, JobStatus::Pending);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_cannot_be_ended_goes_back_alone_and_what_runs_stays(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    world.accept_plain(lane, 4).await;
    let (first, second) = (world.claim(worker, 2).await, world.claim(worker, 2).await);
    let stuck = (first[0].assignment_id, first[0].claim_batch_id);
    let known = OwnClaims {
        running: vec![second[0].assignment_id],
        stuck: HashMap::from([stuck]),
        // The answer of the second claim was lost, and one of its jobs runs all the same.
        ..known(&[&first])
    };
    let mut given_back = release_orphans(&pool, worker, &known).await.unwrap();
    given_back.sort();
    let mut expected = [first[0].assignment_id, second[1].assignment_id];
    expected.sort();
    assert_eq!(given_back, expected);
    assert_eq!(world.number("select count(*) from headgate.jobs where status = 1").await, 2);
    world.must_be_sound().await;
}
