//! The counters of records: folded, and proven by the recount.

use super::service;
use super::world::{World, lead};
use queue::store::counts::recounts;
use queue::store::leader::Term;
use queue::testing;
use sqlx::{AssertSqlSafe, PgPool};
use std::time::Duration;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_numbers_of_records_are_folded(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let fold = service(&pool, "fold_record_counts");
    let is_seen = async || -> bool {
        let sign = AssertSqlSafe(format!("select ({})", fold.sign().unwrap()));
        sqlx::query_scalar(sign).fetch_one(&pool).await.unwrap()
    };
    assert!(!is_seen().await, "nothing happened yet");
    for deltas in [
        "insert into headgate.record_count_deltas select id, 'product', n from headgate.apps, unnest(array[3, -1]) n",
        "insert into headgate.in_sync_count_deltas select id, 'product', n from headgate.integrations, unnest(array[4, -1]) n
         union all select id, 'order', -1 from headgate.integrations",
    ] {
        world.run(deltas).await;
        assert!(is_seen().await, "{deltas}");
        assert!(!fold.run_once(&pool, term).await.unwrap());
        assert!(!is_seen().await, "{deltas}");
    }
    assert_eq!(world.number("select n from headgate.in_sync_counts where record_type = 'product'").await, 3);
    assert_eq!(world.number("select n from headgate.record_counts").await, 2);
}

/// A whole round, as the service does it.
async fn a_round(pool: &PgPool, term: Term) -> recounts::LastRecount {
    let counters = service(pool, "fold_record_counts").counters();
    let service = testing::recount(counters, Duration::from_secs(20));
    sqlx::query("update headgate.recounts set finished_at = null").execute(pool).await.unwrap();
    while recounts::last(pool).await.unwrap().finished_at.is_none() {
        service.run_once(pool, term).await.unwrap();
    }
    recounts::last(pool).await.unwrap()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn wrong_numbers_of_records_are_found_and_repaired(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    // An integration and the records of an app.
    let last = a_round(&pool, term).await;
    assert_eq!((last.proven, last.unproven, last.drift, last.repaired), (2, 0, 0, 0));
    // Two records, one of which is in sync, while the counters say seven and five. What an integration has is repaired, and is not counted as drift.
    sqlx::query(
        "with records as (
            insert into headgate.records (app_id, record_type, record_id, version, attributes, attribute_bytes)
            values ($1, 'product', 'a', 1, '{}', 2), ($1, 'product', 'b', 2, '{}', 2)
        ), sent as (
            insert into headgate.sent_records (integration_id, record_type, record_id, version, attributes)
            values ($2, 'product', 'a', 1, '{}'), ($2, 'product', 'b', 1, '{}')
        ), counted as (
            insert into headgate.record_count_deltas values ($1, 'product', 7)
        )
        insert into headgate.in_sync_count_deltas values ($2, 'product', 5)",
    )
    .bind(world.app)
    .bind(world.lane)
    .execute(&pool)
    .await
    .unwrap();
    let last = a_round(&pool, term).await;
    assert_eq!((last.proven, last.unproven, last.drift, last.repaired), (2, 0, 5, 5));
    assert_eq!(world.number("select sum(n)::bigint from headgate.record_count_deltas").await, 2);
    assert_eq!(world.number("select sum(n)::bigint from headgate.in_sync_count_deltas").await, 1);
    assert_eq!(a_round(&pool, term).await.drift, 0);
}
