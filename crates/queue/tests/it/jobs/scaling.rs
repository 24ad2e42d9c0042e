//! The work of the hot statements is linear in the rows: none of them compares pairs.

use crate::support::{Touched, World, end, sent, session};
use model::id::IntegrationId;
use queue::store::jobs::{self, JobSpec};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

/// From a small call to the largest that is accepted.
const SIZES: [usize; 3] = [1_000, 5_000, 40_000];

/// Record changes for several integrations at once, as `POST /events` makes them.
fn changes(world: &World, lanes: &[IntegrationId], round: usize, count: usize) -> Vec<JobSpec> {
    let each = count / lanes.len();
    let of_lane = |lane: &IntegrationId| {
        let lane = *lane;
        (0..each).map(move |n| JobSpec {
            deduplication_id: Some(format!("product:{round}-{n:05}")),
            record: Some(("product".into(), format!("{round}-{n:05}"))),
            ..world.spec(lane)
        })
    };
    lanes.iter().flat_map(of_lane).collect()
}

async fn accept(pool: &PgPool, specs: &[JobSpec]) {
    let mut transaction = pool.begin_with(jobs::BEGIN).await.unwrap();
    jobs::enqueue(&mut transaction, specs).await.unwrap();
    transaction.commit().await.unwrap();
}

/// The cost per row may exceed that of the smallest call by a fifth.
fn is_linear(what: &str, touched: &[(usize, Touched)]) {
    let each: Vec<f64> =
        touched.iter().map(|(rows, touched)| touched.handled as f64 / *rows as f64).collect();
    println!("{what}: {each:?}");
    assert!(each.iter().all(|each| *each <= each_of(touched) * 1.2), "{what}: {each:?} steps a row");
}

fn each_of(touched: &[(usize, Touched)]) -> f64 {
    touched.first().map_or(0.0, |(rows, touched)| touched.handled as f64 / *rows as f64)
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn accepting_is_linear_in_rows_on_empty_and_grown_tables_and_stale_statistics(
    _: PgPoolOptions,
    options: PgConnectOptions,
) {
    let (pool, plans) = session(options);
    let world = World::new(&pool).await;
    let mut lanes = Vec::new();
    for _ in 0..5 {
        lanes.push(world.lane_with(10_000, None).await);
    }
    lanes.sort_unstable();
    // The planner keeps the statistics of empty tables.
    for table in ["jobs", "ready"] {
        let off =
            format!("alter table headgate.{table} set (autovacuum_enabled = off); analyze headgate.{table}");
        sqlx::raw_sql(sqlx::AssertSqlSafe(off)).execute(&pool).await.unwrap();
    }
    // Plans are made and cached while the tables are almost empty.
    for round in 0..8 {
        accept(&pool, &changes(&world, &lanes, 100 + round, 10)).await;
    }
    plans.touched();
    let (mut new, mut folded, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    for (round, count) in SIZES.into_iter().enumerate() {
        accept(&pool, &changes(&world, &lanes, round, count)).await;
        new.push((count, plans.touched()));
        accept(&pool, &changes(&world, &lanes, round, count)).await;
        folded.push((count, plans.touched()));
        let specs: Vec<JobSpec> = (0..count).map(|n| world.spec(lanes[n % lanes.len()])).collect();
        accept(&pool, &specs).await;
        plain.push((count, plans.touched()));
    }
    is_linear("new", &new);
    is_linear("folded", &folded);
    is_linear("plain", &plain);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn claiming_and_finishing_are_linear_in_rows(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    let world = World::new(&pool).await;
    let lane = world.lane_with(10_000, None).await;
    let worker = world.worker().await;
    for round in 0..8 {
        accept(&pool, &changes(&world, &[lane], 100 + round, 10)).await;
        let leased = world.claim(worker, 10).await;
        world.finish_as_the_engine_does(&leased.iter().map(|job| end(job, sent())).collect::<Vec<_>>()).await;
    }
    accept(&pool, &changes(&world, &[lane], 0, 8_000)).await;
    plans.touched();
    let (mut claimed, mut finished) = (Vec::new(), Vec::new());
    for count in [250, 1_000, 4_000] {
        let leased = world.claim(worker, count).await;
        assert_eq!(leased.len(), count);
        claimed.push((count, plans.touched()));
        world.finish_as_the_engine_does(&leased.iter().map(|job| end(job, sent())).collect::<Vec<_>>()).await;
        finished.push((count, plans.touched()));
    }
    is_linear("claim", &claimed);
    is_linear("finish", &finished);
}
