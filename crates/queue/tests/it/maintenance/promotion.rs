//! Due jobs, and only those, become claimable.

use super::world::{World, lead, take_over};
use crate::support;
use queue::store::{jobs, promotion};
use sqlx::PgPool;
use std::time::Duration;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn due_jobs_are_moved_and_the_next_is_waited_for(pool: PgPool) {
    let world = World::new(&pool).await;
    let old = lead(&pool).await;
    let term = take_over(&pool).await;
    world.to_be_retried(world.lane, 3, 1).await;
    world.run("update headgate.waiting set due_at = now() - interval '1 second' where job_id <> (select max(job_id::text)::uuid from headgate.waiting)").await;
    assert_eq!(promotion::promote_due(&pool, old, 10).await.unwrap().count, 0);
    assert_eq!(promotion::promote_due(&pool, term, 1).await.unwrap().count, 1);
    let promote = support::service("promote");
    assert!(!promote.run_once(&pool, term).await.unwrap());
    assert_eq!(world.number("select count(*) from headgate.ready").await, 2);
    assert_eq!(world.number("select count(*) from headgate.waiting").await, 1);
    // Due in a minute: checked again in a second.
    assert_eq!(promote.interval(), Duration::from_secs(1));
    world.run("update headgate.waiting set due_at = clock_timestamp() + interval '10 milliseconds'").await;
    promote.run_once(&pool, term).await.unwrap();
    // On a slow machine it is due already, and there is nothing left to wait for.
    let is_waited_for = world.number("select count(*) from headgate.waiting").await == 1;
    assert_eq!(promote.interval(), Duration::from_millis(if is_waited_for { 250 } else { 1_000 }));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn due_jobs_behind_locked_ones_are_promoted(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.to_be_retried(world.lane, 8, 1).await;
    world.run("update headgate.waiting set due_at = clock_timestamp() - interval '1 minute'").await;
    let mut producer = pool.begin().await.unwrap();
    let first = "select j.id from headgate.jobs j join (select job_id from headgate.waiting order by due_at, job_id limit 5) w on w.job_id = j.id for update of j";
    assert_eq!(sqlx::query(first).fetch_all(&mut *producer).await.unwrap().len(), 5);
    assert_eq!(promotion::promote_due(&pool, term, 5).await.unwrap().count, 3);
    producer.commit().await.unwrap();
    assert_eq!(promotion::promote_due(&pool, term, 10).await.unwrap().count, 5);
    assert_eq!(world.number("select count(*) from headgate.ready").await, 8);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn while_nobody_claims_one_wake_up_row_per_lane_is_kept(pool: PgPool) {
    let world = support::World::new(&pool).await;
    let term = lead(&pool).await;
    let (worker, lane, other) = (world.worker().await, world.lane().await, world.lane().await);
    sqlx::raw_sql("update headgate.lanes set is_asleep = true").execute(&pool).await.unwrap();
    world.accept_plain(lane, 1).await;
    world.accept_plain(other, 1).await;
    let wake_ups = "select count(*) from headgate.lane_wakes";
    sqlx::raw_sql(
        "insert into headgate.lane_wakes select integration_id from headgate.lanes, generate_series(1, 600)",
    )
    .execute(&pool)
    .await
    .unwrap();
    // A claim is running: it deletes them itself.
    let mut claim = pool.begin().await.unwrap();
    sqlx::raw_sql("select pg_advisory_xact_lock(4711, 1)").execute(&mut *claim).await.unwrap();
    assert_eq!(promotion::thin_lane_wakes(&pool).await.unwrap(), 0);
    claim.rollback().await.unwrap();
    // An uncommitted producer is not waited for, and its row stays.
    let mut producer = pool.begin().await.unwrap();
    jobs::enqueue(&mut producer, &[world.spec(lane)]).await.unwrap();
    support::service("promote").run_once(&pool, term).await.unwrap();
    assert_eq!(world.number(wake_ups).await, 2);
    producer.commit().await.unwrap();
    sqlx::raw_sql("update headgate.lanes set is_asleep = true").execute(&pool).await.unwrap();
    assert_eq!(world.claim(worker, 10).await.len(), 3);
    assert_eq!(world.number(wake_ups).await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn no_wake_up_row_is_kept_for_a_lane_of_external_workers(pool: PgPool) {
    let world = support::World::new(&pool).await;
    let lane = world.lane().await;
    sqlx::raw_sql("update headgate.lanes set is_external = true, woken_at = woken_at - interval '1 minute'")
        .execute(&pool)
        .await
        .unwrap();
    world.accept_plain(lane, 1).await;
    assert_eq!(world.number("select count(*) from headgate.lane_wakes").await, 0);
}
