//! The recount finds wrong counters of failures and no others, whatever runs at the same time.

use super::world::lead;
use crate::support::{World as Jobs, end, given_up, retried, sent};
use insight::store::failures;
use model::{failure::CauseId, id::WorkerId};
use queue::store::counts::recounts;
use queue::store::leader::{self, Term};
use queue::{EngineConfig, testing};
use sqlx::PgPool;
use std::time::Duration;

/// A whole round, as the service does it.
async fn a_round(pool: &PgPool, term: Term) -> recounts::LastRecount {
    let services = insight::services::services(&EngineConfig::default());
    let counters = services.iter().flat_map(|service| service.counters()).collect();
    let service = testing::recount(counters, Duration::from_secs(20));
    sqlx::query("update headgate.recounts set finished_at = null").execute(pool).await.unwrap();
    while recounts::last(pool).await.unwrap().finished_at.is_none() {
        service.run_once(pool, term).await.unwrap();
    }
    recounts::last(pool).await.unwrap()
}

/// The total error of the counters of all causes, and the number of causes.
async fn prove_causes(pool: &PgPool) -> (i64, usize) {
    let mut transaction = pool.begin().await.unwrap();
    let (mut cause, mut off_by, mut causes) = (CauseId(0), 0, 0);
    while let Some(next) = failures::next_cause(&mut transaction, cause).await.unwrap() {
        off_by += failures::prove_failures(&mut transaction, next).await.unwrap();
        (cause, causes) = (next, causes + 1);
    }
    transaction.commit().await.unwrap();
    (off_by, causes)
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn nothing_is_found_wrong_while_jobs_fail_and_failures_are_folded(pool: PgPool) {
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
        let (proof, folded) = tokio::join!(prove_causes(&pool), failures::fold(&pool, term));
        assert_eq!(proof.0, 0);
        folded.unwrap();
        proofs += 1;
    }
    load.await.unwrap();
    assert!(proofs > 1, "nothing was proven meanwhile");
    assert_eq!(prove_causes(&pool).await, (0, 1));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn wrong_counters_of_failures_are_repaired_and_open_no_group(pool: PgPool) {
    let jobs = Jobs::new(&pool).await;
    let lane = jobs.lane().await;
    let term = lead(&pool).await;
    jobs.accept_plain(lane, 3).await;
    let worker = jobs.worker().await;
    let claimed = jobs.claim(worker, 3).await;
    let wait = Duration::from_secs(60);
    let ends: Vec<_> = claimed
        .iter()
        .zip([retried(wait), retried(wait), given_up()])
        .map(|(job, ending)| end(job, ending))
        .collect();
    jobs.finish(&ends).await;
    failures::fold(&pool, term).await.unwrap();
    // An integration and a cause.
    let last = a_round(&pool, term).await;
    assert_eq!((last.proven, last.unproven, last.drift), (2, 0, 0));

    for wrong in [
        "update headgate.failure_counts set waiting = waiting + 5",
        "update headgate.failure_groups set dead = dead - 1, waiting = waiting + 5, fixed_at = clock_timestamp()",
        // A delta that is not folded yet, of a deleted integration.
        "insert into headgate.failure_deltas (fingerprint, integration_id, dead)
         select cause || '-gone', gen_random_uuid(), 2 from headgate.failure_groups",
    ] {
        sqlx::query(wrong).execute(&pool).await.unwrap();
    }
    let last = a_round(&pool, term).await;
    assert_eq!((last.unproven, last.drift), (0, 5 + 2 + 1));
    while failures::fold(&pool, term).await.unwrap() > 0 {}
    jobs.must_be_sound().await;
    let group: (i64, i64, bool) =
        sqlx::query_as("select waiting, dead, fixed_at >= last_at from headgate.failure_groups")
            .fetch_one(&pool)
            .await
            .unwrap();
    assert_eq!((group.0, group.1), (2, 1));
    assert_eq!(a_round(&pool, term).await.drift, 0);
}
