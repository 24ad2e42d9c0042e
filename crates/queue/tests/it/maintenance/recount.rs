//! The recount finds wrong counters and no others, whatever runs at the same time.

use super::world::{World, lead, take_over};
use crate::support::{World as Jobs, end, given_up, retried, sent, service};
use model::id::{IntegrationId, WorkerId};
use queue::store::counts::recount::{Proof, prove_jobs};
use queue::store::counts::{self, Drift, fold, recounts};
use queue::store::leader::{self, Term};
use queue::{QueueError, testing};
use sqlx::PgPool;
use std::time::Duration;

const COUNT_TIMEOUT: Duration = Duration::from_secs(20);

/// A whole round, as the service does it.
async fn a_round(pool: &PgPool, term: Term) -> recounts::LastRecount {
    let service = testing::recount(Vec::new(), COUNT_TIMEOUT);
    let before = recounts::last(pool).await.unwrap().finished_at;
    loop {
        service.run_once(pool, term).await.unwrap();
        let last = recounts::last(pool).await.unwrap();
        if last.finished_at != before {
            return last;
        }
    }
}

async fn count_wrongly(pool: &PgPool, lane: IntegrationId, status: i16, attempt: i16, n: i32) {
    sqlx::query("insert into headgate.job_count_deltas values ($1, $2, $3, $4)")
        .bind(lane)
        .bind(status)
        .bind(attempt)
        .bind(n)
        .execute(pool)
        .await
        .unwrap();
}

async fn prove(pool: &PgPool, term: Term, lane: IntegrationId) -> Result<Proof, QueueError> {
    prove_jobs(&mut pool.acquire().await.unwrap(), term, lane, COUNT_TIMEOUT).await
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn counters_that_are_right_are_proven_and_left_alone(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let other = world.another_lane().await;
    world.pending(world.lane, 4, 0).await;
    world.processing(world.lane, 2).await;
    world.to_be_retried(other, 3, 2).await;
    fold::job_counts(&pool, term).await.unwrap();
    world.dead_letters(other, 1).await;
    let last = a_round(&pool, term).await;
    assert_eq!((last.proven, last.unproven, last.drift, last.repaired), (2, 0, 0, 0));
    assert_eq!(world.number("select count(*) from headgate.job_count_deltas").await, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_wrong_counter_is_found_reported_and_repaired(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.pending(world.lane, 4, 0).await;
    world.to_be_retried(world.lane, 3, 2).await;
    count_wrongly(&pool, world.lane, 0, 0, 5).await;
    fold::job_counts(&pool, term).await.unwrap();
    count_wrongly(&pool, world.lane, 2, 2, -1).await;
    // A counter of a deleted integration.
    count_wrongly(&pool, IntegrationId::generate(), 5, 10, 2).await;

    let last = a_round(&pool, term).await;
    assert_eq!((last.unproven, last.drift, last.repaired), (0, 8, 8));
    assert_eq!(counts::drift(&pool).await.unwrap(), []);
    let counts = counts::counts(&pool, world.lane).await.unwrap();
    assert_eq!((counts.backlog, counts.to_be_retried, counts.retry_pyramid), (4, 3, vec![0, 3]));
    assert_eq!(
        (a_round_again(&pool, term).await.drift, recounts::last(&pool).await.unwrap().repaired),
        (0, 8)
    );
}

/// The next round, an hour later.
async fn a_round_again(pool: &PgPool, term: Term) -> recounts::LastRecount {
    sqlx::query("update headgate.recounts set finished_at = clock_timestamp() - interval '61 minutes'")
        .execute(pool)
        .await
        .unwrap();
    a_round(pool, term).await
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn no_round_begins_before_its_time(pool: PgPool) {
    World::new(&pool).await;
    let term = lead(&pool).await;
    service("recount").run_once(&pool, term).await.unwrap();
    assert_eq!(recounts::last(&pool).await.unwrap().finished_at, None, "the program has just started");
    let finished_at = a_round(&pool, term).await.finished_at;
    testing::recount(Vec::new(), COUNT_TIMEOUT).run_once(&pool, term).await.unwrap();
    assert_eq!(recounts::last(&pool).await.unwrap().finished_at, finished_at, "an hour has not passed");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_new_leader_continues_where_the_last_one_stopped(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let (done, left) = (world.lane.min(world.another_lane().await), IntegrationId(uuid::Uuid::max()));
    count_wrongly(&pool, done, 0, 0, 1).await;
    count_wrongly(&pool, left, 0, 0, 1).await;
    sqlx::query(
        "update headgate.recounts set began_at = clock_timestamp(), cursor = $1, proven = 40, drift = 2",
    )
    .bind(done)
    .execute(&pool)
    .await
    .unwrap();
    // A round that has begun does not wait until the process has run for ten minutes.
    let service = service("recount");
    while recounts::last(&pool).await.unwrap().finished_at.is_none() {
        service.run_once(&pool, term).await.unwrap();
    }
    let last = recounts::last(&pool).await.unwrap();
    assert!(last.proven > 40 && last.drift == 3, "{last:?}");
    let found: Vec<IntegrationId> =
        counts::drift(&pool).await.unwrap().into_iter().map(|drift| drift.integration_id).collect();
    assert_eq!(found, [done]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn nothing_is_found_wrong_while_jobs_are_claimed_finished_and_folded(pool: PgPool) {
    let jobs = Jobs::new(&pool).await;
    let lane = jobs.lane().await;
    // A long lease, for slow machines.
    let mut connection = pool.acquire().await.unwrap();
    let hour = Duration::from_secs(3_600);
    let term = leader::acquire(&mut connection, WorkerId::generate(), hour).await.unwrap().unwrap();
    drop(connection);
    jobs.accept_plain(lane, 60).await;
    let worker = jobs.worker().await;
    let load = tokio::spawn(async move {
        for round in 0.. {
            let claimed = jobs.claim(worker, 10).await;
            if claimed.is_empty() {
                return;
            }
            let ending = |n: usize| match (n + round) % 3 {
                0 => retried(Duration::from_secs(60)),
                1 => given_up(),
                _ => sent(),
            };
            let ends: Vec<_> = claimed.iter().enumerate().map(|(n, job)| end(job, ending(n))).collect();
            jobs.finish(&ends).await;
            jobs.accept_plain(lane, round % 2).await;
        }
    });
    let mut proofs = 0;
    while !load.is_finished() {
        let (proof, folded) = tokio::join!(prove(&pool, term, lane), fold::job_counts(&pool, term));
        assert_eq!(proof.unwrap(), Proof::Holds);
        folded.unwrap();
        proofs += 1;
    }
    load.await.unwrap();
    assert!(proofs > 1, "nothing was proven meanwhile");
    assert_eq!(prove(&pool, term, lane).await.unwrap(), Proof::Holds);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_difference_is_repaired_once_however_many_find_it(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.pending(world.lane, 1, 0).await;
    count_wrongly(&pool, world.lane, 0, 0, 41).await;
    let proofs = (0..8).map(|_| {
        let (pool, lane) = (pool.clone(), world.lane);
        tokio::spawn(async move { prove(&pool, term, lane).await.unwrap() })
    });
    let mut repairs = Vec::new();
    for proof in proofs.collect::<Vec<_>>() {
        if let Proof::Repaired(drifts) = proof.await.unwrap() {
            repairs.extend(drifts);
        }
    }
    assert_eq!(repairs, [Drift { integration_id: world.lane, status: 0, attempt: 0, counted: 42, real: 1 }]);
    assert_eq!(counts::counts(&pool, world.lane).await.unwrap().backlog, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_former_leader_repairs_nothing(pool: PgPool) {
    let world = World::new(&pool).await;
    count_wrongly(&pool, world.lane, 0, 0, 5).await;
    let old = lead(&pool).await;
    take_over(&pool).await;
    assert!(matches!(prove(&pool, old, world.lane).await, Err(QueueError::TermOver)));
    let service = testing::recount(Vec::new(), COUNT_TIMEOUT);
    assert!(matches!(service.run_once(&pool, old).await, Err(QueueError::TermOver)));
    assert_eq!(counts::counts(&pool, world.lane).await.unwrap().backlog, 5);
    assert_eq!(recounts::last(&pool).await.unwrap(), recounts::LastRecount::default());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_count_that_takes_too_long_is_left_open_and_stops_nothing(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    count_wrongly(&pool, world.lane, 0, 0, 5).await;
    let mut lock_holder = pool.begin().await.unwrap();
    sqlx::query("lock table headgate.dead_letter_jobs").execute(&mut *lock_holder).await.unwrap();
    let brief = Duration::from_millis(50);
    let mut connection = pool.acquire().await.unwrap();
    let open = prove_jobs(&mut connection, term, world.lane, brief).await.unwrap();
    assert_eq!(open, Proof::Open);
    // The connection still works.
    sqlx::query("select 1").execute(&mut *connection).await.unwrap();
    drop(lock_holder);
    assert!(matches!(prove(&pool, term, world.lane).await.unwrap(), Proof::Repaired(_)));
}
