//! Urgent work goes first, and nothing starves behind it.

use crate::support::{World, end, sent};
use model::id::{IntegrationId, JobId};
use queue::store::jobs::{self, ClaimRequest, JobSpec};
use sqlx::PgPool;
use std::collections::HashMap;

async fn accept_urgent(world: &World, lane: IntegrationId, count: usize) {
    let spec = JobSpec { job_type: "attribute.update".into(), ..world.spec(lane) };
    world.accept(&vec![spec; count]).await;
}

/// As if the jobs had waited for two minutes.
async fn let_age(pool: &PgPool, ids: &[JobId]) {
    for table in [
        "update headgate.jobs set created_at = created_at - interval '2 minutes' where id = any ($1)",
        "update headgate.ready set created_at = created_at - interval '2 minutes' where job_id = any ($1)",
    ] {
        sqlx::query(table).bind(ids).execute(pool).await.unwrap();
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn one_job_in_eight_is_the_one_that_has_waited_longest_behind_urgent_work(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let lane = world.lane_with(1_000, None).await;
    let patient = world.accept_plain(lane, 20).await;
    let lowest = world.accept(&[JobSpec { priority: -100, ..world.spec(lane) }]).await[0].id;
    accept_urgent(&world, lane, 200).await;
    let claimed = world.claim(worker, 40).await;
    assert!(claimed.iter().all(|job| job.rank < 0), "nothing has waited for a minute yet");

    let_age(&pool, &patient).await;
    let claimed = world.claim(worker, 40).await;
    let aged: Vec<JobId> = claimed.iter().map(|job| job.id).filter(|id| patient.contains(id)).collect();
    assert!((5..=6).contains(&aged.len()), "{} of 40", aged.len());
    assert_eq!(claimed.len(), 40);
    let mut oldest = patient[..aged.len()].to_vec();
    oldest.sort();
    let mut of_them = aged.clone();
    of_them.sort();
    assert_eq!(of_them, oldest, "the oldest ones");

    // Among several ranks the one with the oldest job is chosen, whatever its priority.
    let_age(&pool, &[lowest]).await;
    let_age(&pool, &[lowest]).await;
    assert!(world.claim(worker, 8).await.iter().any(|job| job.id == lowest));
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_lane_that_gives_one_job_at_a_time_starves_nothing_either(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let lane = world.lane_with(1, None).await;
    let patient = world.accept_plain(lane, 1).await;
    let_age(&pool, &patient).await;
    // One in eight at random: the probability that none of 250 is chosen is 3 in 10^15.
    for round in 0.. {
        assert!(round < 250, "the aged job starves");
        accept_urgent(&world, lane, 1).await;
        let claimed = world.claim(worker, 1).await;
        assert_eq!(claimed.len(), 1);
        world.finish(&[end(&claimed[0], sent())]).await;
        if claimed[0].id == patient[0] {
            break;
        }
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_aged_job_takes_no_more_than_its_lane_may_run(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let lane = world.lane_with(16, None).await;
    let patient = world.accept_plain(lane, 20).await;
    let_age(&pool, &patient).await;
    accept_urgent(&world, lane, 50).await;
    let claims =
        ClaimRequest { worker_id: worker, wanted: 30, lane_cap: 30, busy: HashMap::new(), program: None };
    assert_eq!(jobs::claim(&pool, &claims).await.unwrap().len(), 16);
    assert_eq!(world.claim(worker, 30).await.len(), 0);
}
