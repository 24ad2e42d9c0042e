//! What the sampler measures, and that every process gets it.

use super::world::{World, lead};
use insight::live::LiveHub;
use insight::services::Sample;
use insight::store::stats::{LastSeen, measures, rollup};
use queue::EngineConfig;
use queue::maintenance::{Maintenance, Service as _};
use queue::store::vacuum;
use sqlx::{Connection as _, PgConnection, PgPool};
use tokio_util::sync::CancellationToken;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn totals_rise_with_each_fold_and_outlive_retention(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    for _ in 0..2 {
        world.finished(world.lane, 3, 1, 0).await;
        rollup::throughput(&pool, term).await.unwrap();
    }
    rollup::throughput(&pool, term).await.unwrap();
    world.run("truncate headgate.throughput").await;
    let measured = measures(&pool, &mut LastSeen::default()).await.unwrap();
    assert_eq!((measured.sums.completed, measured.sums.dead, measured.sums.retried), (6, 2, 0));
    assert_eq!((measured.term, measured.partition_days_ahead), (term.number, 7));
    assert!(measured.database_bytes > 1_000_000);
    let tables: Vec<&str> = measured.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(tables, vacuum::HOT_TABLES);
    assert!(measured.tables.iter().all(|table| table.is_ours));
    assert!(measured.tables.iter().any(|table| table.name == "jobs" && table.bytes > 0));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_oldest_transaction_is_reported_with_its_owner(pool: PgPool) {
    let seen = &mut LastSeen::default();
    let options = (*pool.connect_options()).clone().application_name("nightly export\u{1b}[31m");
    let mut export = PgConnection::connect_with(&options).await.unwrap();
    sqlx::raw_sql("begin isolation level repeatable read; select 1").execute(&mut export).await.unwrap();
    let pid: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut export).await.unwrap();
    let open = measures(&pool, seen).await.unwrap().oldest_transaction.unwrap();
    assert!(open.application.starts_with("nightly export") && !open.application.contains('\u{1b}'));
    assert_eq!(open.pid, Some(pid));
    sqlx::raw_sql("commit").execute(&mut export).await.unwrap();
    let next = measures(&pool, seen).await.unwrap().oldest_transaction;
    assert!(next.is_none_or(|open| open.pid != Some(pid)));
    export.close().await.unwrap();
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn measures_and_warnings_reach_every_process(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world
        .run(
            "update headgate.recounts set last_drift = 4, finished_at = clock_timestamp();
            do $$ declare day text; begin
                for day in select c.relname from pg_class c
                    where c.relname ~ '^job_attempts_[0-9]{8}$' and c.relkind = 'r' order by 1 desc limit 6
                loop execute 'drop table headgate.' || day; end loop;
            end $$",
        )
        .await;
    let token = CancellationToken::new();
    let hub = LiveHub::start(pool.clone(), token.clone());
    let sample = Sample::default();
    sample.run_once(&pool, term).await.unwrap();
    // Snapshots that follow carry no measures: the previous ones are kept.
    sample.run_once(&pool, term).await.unwrap();
    let mut changes = hub.subscribe();
    let state =
        changes.wait_for(|state| state.measures.is_some() && state.snapshot.is_some()).await.unwrap().clone();
    let (_, measured) = state.measures.clone().unwrap();
    assert_eq!((measured.recount.drift, measured.partition_days_ahead), (4, 1));
    let codes: Vec<String> =
        state.snapshot.as_ref().unwrap().warnings.iter().map(|warning| warning.code.clone()).collect();
    assert_eq!(codes, ["partitions_missing", "counts_drift"]);
    token.cancel();
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_leader_reports_the_health_of_its_services(pool: PgPool) {
    let token = CancellationToken::new();
    let hub = LiveHub::start(pool.clone(), token.clone());
    let maintenance = Maintenance::start(
        pool.clone(),
        EngineConfig::default(),
        insight::services::services(&EngineConfig::default()),
        None,
        token.clone(),
    );
    let mut changes = hub.subscribe();
    let state = changes
        .wait_for(|state| {
            let is_reported = |name: &str| {
                state.measures.as_ref().is_some_and(|(_, measured)| {
                    measured
                        .services
                        .iter()
                        .any(|s| s.name == name && s.runs > 0 && s.seconds_since_success.is_some())
                })
            };
            is_reported("sample") && is_reported("fold_counts")
        })
        .await
        .unwrap()
        .clone();
    let (_, measured) = state.measures.clone().unwrap();
    assert!(measured.services.iter().all(|service| service.is_healthy));
    assert!(measured.services.iter().any(|service| service.name == "recount"));
    token.cancel();
    maintenance.stopped().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn service_counters_continue_under_a_new_leader(pool: PgPool) {
    let mut terms_and_runs = Vec::new();
    for _ in 0..3 {
        let token = CancellationToken::new();
        let hub = LiveHub::start(pool.clone(), token.clone());
        let maintenance = Maintenance::start(
            pool.clone(),
            EngineConfig::default(),
            insight::services::services(&EngineConfig::default()),
            None,
            token.clone(),
        );
        // Another process each time, which counts from zero.
        let mut changes = hub.subscribe();
        let term = terms_and_runs.last().map_or(0, |(term, _)| *term);
        let measured = changes
            .wait_for(|state| state.measures.as_ref().is_some_and(|(_, measured)| measured.term > term))
            .await
            .unwrap()
            .measures
            .clone()
            .unwrap()
            .1;
        let runs: u64 = measured.services.iter().map(|service| service.runs).sum();
        terms_and_runs.push((measured.term, runs));
        token.cancel();
        maintenance.stopped().await;
        // As if it had led for a long time.
        sqlx::query(
            "update headgate.live_snapshots s set measures = jsonb_set(measures, '{services}', (
                select jsonb_agg(x || jsonb_build_object('runs', (x ->> 'runs')::int + 1000)) from jsonb_array_elements(measures -> 'services') x))
             where measures is not null",
        )
        .execute(&pool)
        .await
        .unwrap();
    }
    assert!(terms_and_runs.windows(2).all(|pair| pair[1].1 >= pair[0].1 + 1_000), "{terms_and_runs:?}");
}
