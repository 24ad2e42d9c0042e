//! Jobs of lost workers.

use crate::support::{World, by_id, end, given_up, retried, sent};
use chrono::DateTime;
use model::{attempt::AttemptOutcome, job::JobStatus, rules::verdict::ErrorKind};
use queue::store::jobs::{self, Applied, Ending, Recovered};
use sqlx::PgPool;
use std::time::Duration;

/// A program whose own handlers may be what kills its processes.
const PROGRAM: &str = "shop";

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_lost_worker_is_swept_and_its_late_result_refused(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let (dead, alive) = (world.worker().await, world.worker().await);
    let ids = world.accept_plain(lane, 3).await;
    let of_dead = world.claim(dead, 2).await;
    let of_alive = world.claim(alive, 1).await;
    assert_eq!(world.recover().await, Recovered::default(), "both leases are valid");
    world.finish(&[end(&of_dead[1], sent())]).await;
    world.end_lease(dead).await;
    assert_eq!(world.recover().await, Recovered { returned: 1, ..Recovered::default() });
    assert_eq!(world.recover().await, Recovered::default());

    assert_eq!(
        world.finish(&[end(&of_dead[0], sent()), end(&of_alive[0], sent())]).await,
        [Applied::LeaseLost, Applied::Yes]
    );
    let job = world.get(of_dead[0].id).await;
    assert_eq!((job.job.status, job.job.attempt), (JobStatus::Pending, 0), "the attempt is not counted");
    assert_eq!(job.attempts[0].outcome, AttemptOutcome::Lost);
    assert_eq!(world.number("select sum(lost) from headgate.throughput_deltas").await, 1);
    let again = world.claim(alive, 1).await;
    assert_eq!((again[0].id, again[0].attempt), (ids[0], 1));
    assert_eq!(
        world.finish(&[end(&of_dead[0], given_up())]).await,
        [Applied::LeaseLost],
        "another worker has it now"
    );
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_in_two_claims_of_a_lost_worker_is_lost_once(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    world.accept_plain(lane, 1).await;
    for attempt in 1..=2 {
        let claimed = world.claim(worker, 1).await;
        assert_eq!(claimed[0].attempt, attempt);
        if attempt == 1 {
            world.finish(&[end(&claimed[0], retried(Duration::ZERO))]).await;
        }
    }
    assert_eq!(world.number("select count(*) from headgate.claim_batches").await, 2);
    world.end_lease(worker).await;
    assert_eq!(world.recover().await, Recovered { returned: 1, ..Recovered::default() });
    assert_eq!(world.number("select count(*) from headgate.job_attempts where outcome = 'lost'").await, 1);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_third_lost_lease_makes_the_record_uncertain(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_of(PROGRAM).await;
    let spec = jobs::JobSpec { record: Some(("product".into(), "1".into())), ..world.spec(lane) };
    world.accept(&[spec]).await;
    for lost in 1..=3 {
        let worker = world.worker().await;
        assert_eq!(world.claim_for(PROGRAM, worker).await.len(), 1);
        world.end_lease(worker).await;
        assert_eq!(world.recover().await.dead, u64::from(lost == 3));
        assert_eq!(
            world.number("select count(*) from headgate.uncertain_records where record_id = '1' and attributes is null").await,
            i64::from(lost == 3)
        );
    }
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_late_result_counts_until_the_job_is_recovered(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    world.accept_plain(lane, 1).await;
    let leased = world.claim(worker, 1).await;
    world.end_lease(worker).await;
    assert_eq!(world.finish(&[end(&leased[0], sent())]).await, [Applied::Yes]);
    assert_eq!(world.recover().await, Recovered::default());
    assert_eq!(world.number("select count(*) from headgate.claim_batches").await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn three_leases_lost_in_a_row_make_a_programs_own_job_a_dead_letter(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_of(PROGRAM).await;
    let id = world.accept_plain(lane, 1).await[0];
    let lose = async || {
        let worker = world.worker().await;
        assert_eq!(world.claim_for(PROGRAM, worker).await.len(), 1);
        world.end_lease(worker).await;
        world.recover().await
    };
    for _ in 0..2 {
        assert_eq!(lose().await, Recovered { returned: 1, ..Recovered::default() });
    }
    // An attempt that fails by itself resets the count.
    let worker = world.worker().await;
    let leased = world.claim_for(PROGRAM, worker).await;
    world.finish(&[end(&leased[0], retried(Duration::ZERO))]).await;
    for _ in 0..2 {
        assert_eq!(lose().await, Recovered { returned: 1, ..Recovered::default() });
    }
    assert_eq!(world.get(id).await.job.status, JobStatus::Retrying);
    assert_eq!(lose().await, Recovered { dead: 1, ..Recovered::default() });
    let job = world.get(id).await;
    assert_eq!((job.job.status, job.job.error_kind), (JobStatus::Failed, Some(ErrorKind::WorkerLost)));
    assert_eq!(job.attempts.len(), 6);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_delivery_whose_workers_are_killed_repeatedly_is_recovered_each_time(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let fresh = world.accept_plain(lane, 1).await[0];
    let tried = world.accept_plain(lane, 1).await[0];
    let keyed = jobs::JobSpec { serialize_key: Some("k".into()), ..world.spec(lane) };
    let first_of_key = world.accept(&[keyed.clone(), keyed]).await[0].id;
    let worker = world.worker().await;
    let claimed = world.claim(worker, 10).await;
    world.finish(&[end(by_id(&claimed, tried), retried(Duration::ZERO))]).await;
    let finished: Vec<_> = claimed
        .iter()
        .filter(|job| job.id != tried)
        .map(|job| end(job, Ending::Released { until: DateTime::UNIX_EPOCH }))
        .collect();
    world.finish(&finished).await;
    for lost in 1..=5 {
        let worker = world.worker().await;
        assert_eq!(world.claim(worker, 10).await.len(), 3, "{lost}");
        world.end_lease(worker).await;
        assert_eq!(world.recover().await, Recovered { returned: 3, ..Recovered::default() });
        world.must_be_sound().await;
        // From the third time on they wait before the next attempt.
        let waits =
            world.number("select count(*) from headgate.waiting where due_at > clock_timestamp()").await;
        assert_eq!(waits, if lost < 3 { 0 } else { 3 }, "{lost}");
        world.let_time_pass().await;
    }
    let worker = world.worker().await;
    let claimed = world.claim(worker, 10).await;
    let attempt_of = |id| by_id(&claimed, id).attempt;
    assert_eq!([fresh, tried, first_of_key].map(attempt_of), [1, 2, 1], "no attempt was counted");
    let ends: Vec<_> = claimed.iter().map(|job| end(job, sent())).collect();
    world.finish(&ends).await;
    assert_eq!(world.claim(worker, 10).await.len(), 1, "the second of the key");
    assert_eq!(world.number("select count(*) from headgate.dead_letter_jobs").await, 0);
}
