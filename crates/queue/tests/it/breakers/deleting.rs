//! An integration is deleted while its breaker changes: the two do not deadlock.

use super::support::{lead, states};
use crate::support::{World, until};
use model::{breaker::BreakerState, id::IntegrationId, rules::breaker::Outcome};
use queue::store::breakers::{self, Observed, observe};
use sqlx::PgPool;

async fn failures(pool: &PgPool, ids: &[IntegrationId], count: i32) {
    let now = chrono::Utc::now();
    let outcomes = vec![Outcome { started_at: now, is_failure: true, count }];
    let observed = Observed { outcomes, last_error: Some("no".into()) };
    let seen: Vec<_> = ids.iter().map(|id| (*id, observed.clone())).collect();
    observe(pool, &seen, 5).await.unwrap();
}

const IS_LOCK_WAIT: &str = "select exists (
    select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')";

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_breaker_that_opens_and_a_deletion_do_not_deadlock(pool: PgPool) {
    let world = World::new(&pool).await;
    let mut ids = [world.lane().await, world.lane().await];
    ids.sort();
    let (deleted_id, kept_id) = (ids[0], ids[1]);
    failures(&pool, &ids, 1).await;
    let mut deletion = pool.begin().await.unwrap();
    sqlx::query("select 1 from headgate.integrations where id = $1 for update")
        .bind(deleted_id)
        .execute(&mut *deletion)
        .await
        .unwrap();
    // Both breakers open, and a change of each is recorded in a row that refers to its integration.
    let observing = tokio::spawn({
        let pool = pool.clone();
        async move { failures(&pool, &ids, 10).await }
    });
    while !observing.is_finished()
        && !sqlx::query_scalar::<_, bool>(IS_LOCK_WAIT).fetch_one(&pool).await.unwrap()
    {}
    sqlx::query("delete from headgate.integrations where id = $1")
        .bind(deleted_id)
        .execute(&mut *deletion)
        .await
        .unwrap();
    deletion.commit().await.unwrap();
    observing.await.unwrap();
    assert_eq!(states(&pool, kept_id).await, [BreakerState::Open]);
    assert_eq!(world.number("select count(*) from headgate.breakers").await, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_deletion_waits_for_what_the_leader_does_to_the_breaker(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    failures(&pool, &[lane], 10).await;
    let term = lead(&pool).await;
    sqlx::query("update headgate.breakers set probe_at = clock_timestamp()").execute(&pool).await.unwrap();
    // The flip is written last: the leader waits there with the breaker locked.
    let mut flips_lock = pool.begin().await.unwrap();
    sqlx::query("lock table headgate.breaker_flips in exclusive mode")
        .execute(&mut *flips_lock)
        .await
        .unwrap();
    let (ticked, deleted, ()) = tokio::join!(
        async { breakers::tick(&pool, term, &[lane]).await },
        async {
            until(&pool, IS_LOCK_WAIT).await;
            sqlx::query("delete from headgate.integrations where id = $1").bind(lane).execute(&pool).await
        },
        async {
            let both = "select count(*) >= 2 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
            until(&pool, both).await;
            flips_lock.rollback().await.unwrap();
        }
    );
    assert!(ticked.unwrap(), "probes may run");
    assert_eq!(deleted.unwrap().rows_affected(), 1);
    assert_eq!(world.number("select count(*) from headgate.breaker_flips").await, 0);
}
