//! Folding keeps all sums, whoever folds and whatever is appended meanwhile.

use super::world::{World, lead};
use crate::support::until;
use queue::EngineConfig;
use queue::maintenance::Maintenance;
use queue::store::counts::{self, fold};
use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn folding_keeps_every_sum(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    for _ in 0..2 {
        world.pending(world.lane, 4, 0).await;
        world.to_be_retried(world.lane, 3, 2).await;
        world.dead_letters(world.lane, 1).await;
        let before = counts::counts(&pool, world.lane).await.unwrap();
        assert_eq!(fold::job_counts(&pool, term).await.unwrap(), 3);
        assert_eq!(counts::counts(&pool, world.lane).await.unwrap(), before);
        assert_eq!(world.number("select count(*) from headgate.job_count_deltas").await, 0);
    }
    let counts = counts::counts(&pool, world.lane).await.unwrap();
    assert_eq!((counts.backlog, counts.to_be_retried, counts.dead_letters), (8, 6, 2));
    assert_eq!(counts.retry_pyramid, [0, 6]);
    assert_eq!(counts::all_counts(&pool).await.unwrap().remove(&world.lane), Some(counts));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn deltas_that_cancel_each_other_out_leave_no_row(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    sqlx::query("insert into headgate.job_count_deltas values ($1, 0, 0, 5), ($1, 0, 0, -5)")
        .bind(world.lane)
        .execute(&pool)
        .await
        .unwrap();
    fold::job_counts(&pool, term).await.unwrap();
    assert_eq!(world.number("select count(*) from headgate.job_counts").await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn concurrent_folds_and_writers_lose_nothing(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let tasks = (0..6).map(|task| {
        let (pool, lane) = (pool.clone(), world.lane);
        tokio::spawn(async move {
            for _ in 0..40 {
                if task % 2 == 0 {
                    sqlx::query("insert into headgate.job_count_deltas values ($1, 0, 0, 1), ($1, 1, 1, 1)")
                        .bind(lane)
                        .execute(&pool)
                        .await
                        .unwrap();
                } else {
                    fold::job_counts(&pool, term).await.unwrap();
                }
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let counts = counts::counts(&pool, world.lane).await.unwrap();
    assert_eq!((counts.backlog, counts.processing), (120, 120));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn batches_are_folded_too(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    sqlx::query(
        "with batch as (
            insert into headgate.batches (id, app_id, job_type, total) values (gen_random_uuid(), $1, 'test', 10) returning id
        )
        insert into headgate.batch_deltas (batch_id, total, succeeded, failed)
        select id, 2, 5, 1 from batch union all select id, 0, 1, -1 from batch union all select gen_random_uuid(), 1, 1, 1",
    )
    .bind(world.app)
    .execute(&pool)
    .await
    .unwrap();
    assert_eq!(fold::batches(&pool, term).await.unwrap(), 3);
    assert_eq!(
        world.number("select total * 100 + succeeded * 10 + failed from headgate.batches").await,
        1260
    );
    assert_eq!(world.number("select count(*) from headgate.batch_deltas").await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_process_that_does_not_lead_folds_when_there_are_too_many(pool: PgPool) {
    let world = World::new(&pool).await;
    world.pending(world.lane, 3, 0).await;
    world.pending(world.lane, 4, 0).await;
    assert_eq!(fold::job_counts_if_many(&pool, 2).await.unwrap(), 0);
    assert_eq!(world.number("select count(*) from headgate.job_count_deltas").await, 2);
    assert_eq!(fold::job_counts_if_many(&pool, 1).await.unwrap(), 2);
    assert_eq!(world.number("select n from headgate.job_counts").await, 7);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn deltas_that_pile_up_while_the_leader_does_nothing_are_folded_by_another_process(pool: PgPool) {
    let world = World::new(&pool).await;
    // It leads for a minute and never folds.
    lead(&pool).await;
    let token = CancellationToken::new();
    let other = Maintenance::start(
        pool.clone(),
        EngineConfig::default(),
        insight::services::services(&EngineConfig::default()),
        None,
        token.clone(),
    );
    world.run("insert into headgate.job_count_deltas select gen_random_uuid(), 0, 0, 1 from generate_series(1, 30000)").await;
    until(&pool, "select count(*) <= 5000 from headgate.job_count_deltas").await;
    assert!(!other.watch().is_leader());
    assert_eq!(
        world
            .number("select ((select sum(n) from headgate.job_counts) + (select coalesce(sum(n), 0) from headgate.job_count_deltas))::bigint")
            .await,
        30_000
    );
    token.cancel();
    other.stopped().await;
}
