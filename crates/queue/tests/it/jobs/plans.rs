//! The hot statements keep to their indexes, also when the statistics were taken while the tables were empty.

use crate::support::{World, end, sent};
use sqlx::{
    PgPool, Row as _,
    postgres::{PgConnectOptions, PgPoolOptions},
};

/// Tuples read one after the other from a table without an index, so far.
async fn read_in_sequence(pool: &PgPool, table: &str) -> i64 {
    sqlx::raw_sql("select pg_stat_force_next_flush()").execute(pool).await.unwrap();
    sqlx::query("select coalesce(seq_tup_read, 0) from pg_stat_user_tables where schemaname = 'headgate' and relname = $1")
        .bind(table)
        .fetch_one(pool)
        .await
        .unwrap()
        .get(0)
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn claim_and_finish_read_no_whole_table_on_stale_statistics(
    _: PgPoolOptions,
    options: PgConnectOptions,
) {
    // One session: it keeps its plans, and tells its statistics when it is asked.
    let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
    let world = World::new(&pool).await;
    let lane = world.lane_with(10_000, None).await;
    let worker = world.worker().await;
    sqlx::raw_sql(
        "alter table headgate.jobs set (autovacuum_enabled = off); alter table headgate.ready set (autovacuum_enabled = off);
         analyze headgate.jobs; analyze headgate.ready;",
    )
    .execute(&pool)
    .await
    .unwrap();
    // Plans are made and kept while there is almost nothing.
    for _ in 0..8 {
        world.accept_plain(lane, 2).await;
        let held = world.claim(worker, 2).await;
        world.finish_as_the_engine_does(&held.iter().map(|job| end(job, sent())).collect::<Vec<_>>()).await;
    }
    for _ in 0..10 {
        world.accept_plain(lane, 500).await;
    }
    let before = (read_in_sequence(&pool, "jobs").await, read_in_sequence(&pool, "ready").await);
    for _ in 0..4 {
        let held = world.claim(worker, 50).await;
        assert_eq!(held.len(), 50);
        world.finish_as_the_engine_does(&held.iter().map(|job| end(job, sent())).collect::<Vec<_>>()).await;
    }
    let after = (read_in_sequence(&pool, "jobs").await, read_in_sequence(&pool, "ready").await);
    assert_eq!((after.0 - before.0, after.1 - before.1), (0, 0), "tuples read in sequence");
}
