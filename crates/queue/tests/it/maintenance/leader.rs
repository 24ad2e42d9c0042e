//! One process leads at a time, and a former leader writes nothing.

use super::world::{World, lead, take_over};
use crate::support::until;
use model::id::WorkerId;
use queue::QueueError;
use queue::store::counts::fold;
use queue::store::leader;
use sqlx::PgPool;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(60);

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_lease_that_ended_is_taken_over_under_a_higher_term(pool: PgPool) {
    let first = lead(&pool).await;
    let mut connection = pool.acquire().await.unwrap();
    assert_eq!(leader::acquire(&mut connection, WorkerId::generate(), LEASE).await.unwrap(), None);
    assert!(leader::renew(&mut connection, first, LEASE).await.unwrap());

    let second = take_over(&pool).await;
    assert_eq!(second.number, first.number + 1);
    assert!(!leader::renew(&mut connection, first, LEASE).await.unwrap());
    assert!(matches!(leader::confirm(&mut connection, first).await, Err(QueueError::TermOver)));
    leader::confirm(&mut connection, second).await.unwrap();
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_lease_that_ended_is_not_renewed_even_when_nobody_took_over(pool: PgPool) {
    let term = lead(&pool).await;
    let mut connection = pool.acquire().await.unwrap();
    sqlx::query("update headgate.leader set expires_at = clock_timestamp()").execute(&pool).await.unwrap();
    assert!(!leader::renew(&mut connection, term, LEASE).await.unwrap());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_released_lease_is_free_at_once(pool: PgPool) {
    let first = lead(&pool).await;
    leader::release(&mut pool.acquire().await.unwrap(), first).await.unwrap();
    assert_eq!(lead(&pool).await.number, first.number + 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn of_many_simultaneous_candidates_one_leads(pool: PgPool) {
    let candidates = (0..8).map(|_| {
        let pool = pool.clone();
        tokio::spawn(async move {
            let mut connection = pool.acquire().await.unwrap();
            leader::acquire(&mut connection, WorkerId::generate(), LEASE).await.unwrap()
        })
    });
    let mut leaders = 0;
    for candidate in candidates.collect::<Vec<_>>() {
        leaders += usize::from(candidate.await.unwrap().is_some());
    }
    assert_eq!(leaders, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_former_leaders_write_is_refused(pool: PgPool) {
    let world = World::new(&pool).await;
    world.pending(world.lane, 3, 0).await;
    let old = lead(&pool).await;
    let new = take_over(&pool).await;
    assert_eq!(fold::job_counts(&pool, old).await.unwrap(), 0);
    assert_eq!(world.number("select count(*) from headgate.job_count_deltas").await, 1);
    assert_eq!(fold::job_counts(&pool, new).await.unwrap(), 1);
    assert_eq!(world.number("select n from headgate.job_counts").await, 3);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_leader_stopped_between_confirm_and_write_writes_nothing(pool: PgPool) {
    let mut connection = pool.acquire().await.unwrap();
    let short = Duration::from_millis(500);
    let term = leader::acquire(&mut connection, WorkerId::generate(), short).await.unwrap().unwrap();
    let mut stopped = pool.begin().await.unwrap();
    leader::confirm(&mut stopped, term).await.unwrap();
    // It is idle in its transaction, which the server ends no later than its lease runs out.
    let is_over = "select not exists (select 1 from pg_stat_activity where datname = current_database() and state = 'idle in transaction')";
    until(&pool, is_over).await;
    lead(&pool).await;
    let written = sqlx::query(
        "insert into headgate.workers (id, host, pid, version, slots, lease_until) values (gen_random_uuid(), '', 0, '', 0, now())",
    );
    assert!(written.execute(&mut *stopped).await.is_err());
}
