//! The hot statements use their indexes even when statistics were gathered while the tables were empty.

use crate::support::{World, end, retried, sent};
use insight::store::job_lists;
use model::{actor::Scope, filter::JobFilter, job::JobStatus, page::PageRequest};
use queue::store::jobs::JobSpec;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgPool, Row as _};

/// Tuples read by sequential scans of a table so far.
async fn read_in_sequence(pool: &PgPool, table: &str) -> i64 {
    sqlx::raw_sql("select pg_stat_force_next_flush()").execute(pool).await.unwrap();
    sqlx::query(
        "select coalesce(sum(seq_tup_read), 0)::bigint from pg_stat_user_tables
         where schemaname = 'headgate' and relname ~ ('^' || $1 || '(_[0-9]+)?$')",
    )
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
    // One session, which keeps its plans and flushes its statistics on demand.
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
    // Plans are made and cached while the tables are almost empty.
    for _ in 0..8 {
        world.accept_plain(lane, 2).await;
        let leased = world.claim(worker, 2).await;
        world.finish_as_the_engine_does(&leased.iter().map(|job| end(job, sent())).collect::<Vec<_>>()).await;
    }
    for _ in 0..10 {
        world.accept_plain(lane, 500).await;
    }
    let before = (read_in_sequence(&pool, "jobs").await, read_in_sequence(&pool, "ready").await);
    for _ in 0..4 {
        let leased = world.claim(worker, 50).await;
        assert_eq!(leased.len(), 50);
        world.finish_as_the_engine_does(&leased.iter().map(|job| end(job, sent())).collect::<Vec<_>>()).await;
    }
    let after = (read_in_sequence(&pool, "jobs").await, read_in_sequence(&pool, "ready").await);
    assert_eq!((after.0 - before.0, after.1 - before.1), (0, 0), "tuples read in sequence");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_page_of_jobs_reads_no_whole_table(_: PgPoolOptions, options: PgConnectOptions) {
    let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
    let world = World::new(&pool).await;
    let lane = world.lane_with(10_000, None).await;
    let worker = world.worker().await;
    for n in 0..8 {
        let batch_id = Some(model::id::BatchId::generate());
        let specs: Vec<JobSpec> = (0..500)
            .map(|m| JobSpec { batch_id, correlation_id: format!("{n}-{m}"), ..world.spec(lane) })
            .collect();
        world.accept(&specs).await;
    }
    let leased = world.claim(worker, 1_500).await;
    world.finish_as_the_engine_does(&leased.iter().map(|job| end(job, sent())).collect::<Vec<_>>()).await;
    let later = world.claim(worker, 8).await;
    let in_an_hour = || retried(std::time::Duration::from_secs(3_600));
    world
        .finish_as_the_engine_does(&later.iter().map(|job| end(job, in_an_hour())).collect::<Vec<_>>())
        .await;
    let sample = world.get(leased[700].id).await.job;
    sqlx::raw_sql("analyze").execute(&pool).await.unwrap();
    let page = PageRequest { limit: 20, after: Some(leased[1_000].id.0) };
    for (name, filter) in [
        ("all", JobFilter::default()),
        ("integration", JobFilter { integration_id: Some(lane), ..Default::default() }),
        (
            "correlation",
            JobFilter { correlation_id: Some(sample.correlation_id.clone()), ..Default::default() },
        ),
        ("batch", JobFilter { batch_id: sample.batch_id, ..Default::default() }),
        ("completed", JobFilter { status: Some(JobStatus::Completed), ..Default::default() }),
        ("cancelled", JobFilter { status: Some(JobStatus::Cancelled), ..Default::default() }),
        ("processing", JobFilter { status: Some(JobStatus::Processing), ..Default::default() }),
        (
            "a worker's",
            JobFilter { worker_id: Some(worker), integration_id: Some(lane), ..Default::default() },
        ),
        ("older", JobFilter { min_age: "1h".parse().ok(), ..Default::default() }),
        ("younger", JobFilter { max_age: "15m".parse().ok(), ..Default::default() }),
        (
            "ended long ago",
            JobFilter {
                finished_before: Some(chrono::Utc::now() - chrono::Duration::hours(1)),
                ..Default::default()
            },
        ),
        (
            "a record of any app",
            JobFilter {
                record_type: Some("product".into()),
                record_id: Some("1".into()),
                ..Default::default()
            },
        ),
        (
            "a step of the pyramid",
            JobFilter { status: Some(JobStatus::ToBeRetried), attempt: Some(1), ..Default::default() },
        ),
    ] {
        let before = (read_in_sequence(&pool, "jobs").await, read_in_sequence(&pool, "finished_jobs").await);
        job_lists::list(&pool, Scope::AllApps, &filter, page).await.unwrap();
        job_lists::list(&pool, Scope::AllApps, &filter, PageRequest::default()).await.unwrap();
        let after = (read_in_sequence(&pool, "jobs").await, read_in_sequence(&pool, "finished_jobs").await);
        assert_eq!((after.0 - before.0, after.1 - before.1), (0, 0), "{name}");
    }
}
