//! Deleted records are kept until nobody needs them.

use super::service;
use super::world::{World, lead};
use crate::touched::session;
use queue::store::leader::Term;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

/// Records of the world's app, the first `deleted` of which were deleted a year ago.
async fn records(world: &World, count: i32, deleted: i32) {
    sqlx::query(
        "insert into headgate.records (app_id, record_type, record_id, attributes, attribute_bytes, deleted_at)
        select $1, 'product', n::text, '{}', 2, case when n <= $3 then clock_timestamp() - interval '1 year' end
        from generate_series(1, $2) n",
    )
    .bind(world.app)
    .bind(count)
    .bind(deleted)
    .execute(&world.pool)
    .await
    .unwrap();
}

/// Marks some of them as sent to the external system.
async fn sent(world: &World, first: i32, last: i32) {
    sqlx::query(
        "insert into headgate.sent_records (integration_id, record_type, record_id, version, attributes)
        select $1, 'product', n::text, 1, '{}' from generate_series($2, $3) n",
    )
    .bind(world.lane)
    .bind(first)
    .bind(last)
    .execute(&world.pool)
    .await
    .unwrap();
}

/// Runs a pass over all tombstones and returns the number of portions.
async fn pass(pool: &PgPool, term: Term) -> usize {
    let service = service(pool, "deleted_records");
    let mut portions = 1;
    while service.run_once(pool, term).await.unwrap() {
        portions += 1;
    }
    portions
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_deleted_record_is_removed_when_no_system_has_it(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    records(&world, 6, 5).await;
    let left = async || -> String {
        sqlx::query_scalar("select string_agg(record_id, ' ' order by record_id) from headgate.records")
            .fetch_one(&pool)
            .await
            .unwrap()
    };
    // Record 2 was sent to it, 3 perhaps; 4 was deleted only yesterday; 5 is just being created again.
    sent(&world, 2, 2).await;
    sqlx::query("insert into headgate.uncertain_records values ($1, 'product', '3', null)")
        .bind(world.lane)
        .execute(&pool)
        .await
        .unwrap();
    world
        .run("update headgate.records set deleted_at = now() - interval '1 day' where record_id = '4'")
        .await;
    let mut recreation = pool.begin().await.unwrap();
    sqlx::query("select from headgate.records where record_id = '5' for update")
        .execute(&mut *recreation)
        .await
        .unwrap();
    pass(&pool, term).await;
    assert_eq!(left().await, "2 3 4 5 6");
    recreation.rollback().await.unwrap();
    // The deletion was sent.
    world.run("delete from headgate.sent_records; delete from headgate.uncertain_records").await;
    pass(&pool, term).await;
    assert_eq!(left().await, "4 6");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn tombstones_that_must_stay_do_not_block_others(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    records(&world, 4_100, 4_100).await;
    // More than a portion, and the oldest ones.
    sent(&world, 1, 4_000).await;
    world
        .run(
            "update headgate.records set deleted_at = deleted_at - interval '1 day' where record_id::int <= 4000",
        )
        .await;
    assert_eq!(pass(&pool, term).await, 3);
    assert_eq!(world.number("select count(*) from headgate.records").await, 4_000);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn finding_tombstones_does_not_read_the_catalog(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    records(&world, 20_000, 20).await;
    sent(&world, 11, 20_000).await;
    for statistics in ["select", "analyze headgate.records, headgate.sent_records"] {
        world.run(statistics).await;
        plans.touched();
        pass(&pool, term).await;
        let touched = plans.touched();
        assert!(touched.rows < 200, "{statistics}: {touched:?}");
    }
    assert_eq!(world.number("select count(*) from headgate.records").await, 19_990);
}
