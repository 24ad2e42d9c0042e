//! The hot tables are vacuumed by the leader, when they need it.

use super::world::{World, lead, take_over};
use queue::{
    QueueError,
    maintenance::{Service as _, Vacuum},
    store::vacuum,
};
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_hot_table_is_known_ours_and_not_due_while_quiet(pool: PgPool) {
    let mut connection = pool.acquire().await.unwrap();
    let bloats = vacuum::bloat(&mut connection).await.unwrap();
    let tables: Vec<&str> = bloats.iter().map(|bloat| bloat.table.as_str()).collect();
    assert_eq!(tables, vacuum::HOT_TABLES);
    assert!(bloats.iter().all(|bloat| bloat.is_ours && !bloat.is_due && !bloat.is_stale));
    for bloat in &bloats {
        vacuum::vacuum(&mut connection, bloat).await.unwrap();
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn dead_rows_past_the_threshold_are_vacuumed_by_the_leader_alone(pool: PgPool) {
    let world = World::new(&pool).await;
    let (old, service) = (lead(&pool).await, Vacuum::default());
    let term = take_over(&pool).await;
    let mut connection = pool.acquire().await.unwrap();
    sqlx::raw_sql(
        "insert into headgate.job_count_deltas select gen_random_uuid(), 0, 0, 1 from generate_series(1, 3000);
        delete from headgate.job_count_deltas; select pg_stat_force_next_flush()",
    )
    .execute(&mut *connection)
    .await
    .unwrap();
    let is_due = vacuum::bloat(&mut connection).await.unwrap().into_iter().any(|bloat| bloat.is_due);
    assert!(is_due);
    assert!(matches!(service.run_once(&pool, old).await, Err(QueueError::LeaseLost)));
    service.run_once(&pool, term).await.unwrap();
    assert_eq!(world.number("select pg_relation_size('headgate.job_count_deltas') * 0 + vacuum_count from pg_stat_user_tables where relname = 'job_count_deltas'").await, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn statistics_of_another_time_are_taken_anew_by_the_leader_alone(pool: PgPool) {
    let world = World::new(&pool).await;
    let (old, service) = (lead(&pool).await, Vacuum::default());
    let term = take_over(&pool).await;
    let mut connection = pool.acquire().await.unwrap();
    sqlx::raw_sql(
        "insert into headgate.ready select gen_random_uuid(), 200, clock_timestamp(), gen_random_uuid() from generate_series(1, 20000);
        select pg_stat_force_next_flush()",
    )
    .execute(&mut *connection)
    .await
    .unwrap();
    let stale =
        vacuum::bloat(&mut connection).await.unwrap().into_iter().find(|bloat| bloat.is_stale).unwrap();
    assert_eq!((stale.table.as_str(), stale.is_due), ("ready", false));
    assert!(matches!(service.run_once(&pool, old).await, Err(QueueError::LeaseLost)));
    service.run_once(&pool, term).await.unwrap();
    assert_eq!(
        world.number("select reltuples::bigint from pg_class where oid = 'headgate.ready'::regclass").await,
        20_000
    );
}
