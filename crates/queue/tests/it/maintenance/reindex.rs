//! Indexes that are mostly empty are rebuilt, and the remains of an interrupted rebuild are dropped.

use super::world::{World, lead, take_over};
use crate::support::service;
use queue::{QueueError, testing::reindex};
use sqlx::PgPool;

const SIZE: &str = "select pg_relation_size('headgate.ready_pkey')";
const INDEXES: &str = "select count(*) from pg_index where indrelid = 'headgate.ready'::regclass";

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_mostly_empty_index_is_rebuilt_by_the_leader_only(pool: PgPool) {
    let world = World::new(&pool).await;
    let old = lead(&pool).await;
    let term = take_over(&pool).await;
    world
        .run(
            "insert into headgate.ready select gen_random_uuid(), 200, clock_timestamp(), gen_random_uuid() from generate_series(1, 20000);
            delete from headgate.ready where random() > 0.01;
            select pg_stat_force_next_flush()",
        )
        .await;
    world.run("vacuum analyze headgate.ready").await;
    let (before, indexes) = (world.number(SIZE).await, world.number(INDEXES).await);
    service("reindex").run_once(&pool, term).await.unwrap();
    assert_eq!(world.number(SIZE).await, before, "too small to be worth it");
    let service = reindex(500_000);
    assert!(matches!(service.run_once(&pool, old).await, Err(QueueError::TermOver)));
    assert_eq!(world.number(SIZE).await, before);
    service.run_once(&pool, term).await.unwrap();
    assert!(world.number(SIZE).await < before / 10);
    assert_eq!(world.number(INDEXES).await, indexes);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_remains_of_an_interrupted_rebuild_are_dropped(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.pending(world.lane, 2, 0).await;
    let indexes = world.number(INDEXES).await;
    // Fails because two jobs have the same rank, and leaves an invalid index that every write maintains.
    let failed = sqlx::raw_sql("create unique index concurrently ready_pkey_ccnew on headgate.ready (rank)")
        .execute(&pool)
        .await;
    assert!(failed.is_err());
    assert_eq!(world.number(INDEXES).await, indexes + 1);
    service("reindex").run_once(&pool, term).await.unwrap();
    assert_eq!(world.number(INDEXES).await, indexes);
}
