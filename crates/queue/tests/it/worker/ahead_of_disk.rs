//! Large claims are committed ahead of the disk. Their jobs begin once the commit is on disk, and not at all when that cannot be confirmed.

use crate::support::{Script, World, config, ok, start, until, until_recorded};
use queue::EngineConfig;
use queue::store::jobs::{ClaimRequest, Claimer, Durability, wait_until_durable};
use queue::worker::LeasedJob;
use sqlx::{PgPool, postgres::PgPoolOptions};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn many_jobs_are_claimed_ahead_of_the_disk_and_few_wait_for_it(pool: PgPool) {
    let world = World::new(&pool).await;
    let (lane, worker_id) = (world.lane_with(1_000, None).await, world.worker().await);
    world.accept_plain(lane, 249).await;
    // Test servers do not wait for disks.
    let options = (*pool.connect_options()).clone().options([("synchronous_commit", "on")]);
    let durable = PgPoolOptions::new().max_connections(2).connect_with(options).await.unwrap();
    let mut claimer = Claimer::new(&durable);
    let claims =
        |wanted| ClaimRequest { worker_id, wanted, lane_cap: wanted, busy: HashMap::new(), program: None };
    let (few, durability) = claimer.claim(&claims(99)).await.unwrap();
    assert_eq!((few.len(), durability), (99, Durability::OnDisk));
    let (many, durability) = claimer.claim(&claims(150)).await.unwrap();
    assert_eq!((many.len(), durability), (150, Durability::AheadOfDisk));
    let committed: String =
        sqlx::query_scalar("select pg_current_wal_insert_lsn()::text").fetch_one(&pool).await.unwrap();
    wait_until_durable(&durable).await.unwrap();
    let is_flushed: bool = sqlx::query_scalar("select pg_current_wal_flush_lsn() >= $1::pg_lsn")
        .bind(&committed)
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(is_flushed, "{committed}");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_whose_claim_may_not_be_durable_do_not_begin(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(1_000, None).await;
    let jobs = world.accept_plain(lane, 150).await;
    // Waiting for the disk fails, because the functions of that name are missing.
    let rename = |from: &str, to: &str| {
        let rename = format!(
            "do $$ declare f regprocedure; begin
                for f in select p.oid from pg_proc p where p.proname = '{from}' loop
                    execute format('alter function %s rename to {to}', f);
                end loop;
            end $$"
        );
        sqlx::query(sqlx::AssertSqlSafe(rename)).execute(&pool)
    };
    rename("pg_logical_emit_message", "emit_elsewhere").await.unwrap();
    let begun = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&begun);
    let handler = Script::new(move |_: &LeasedJob| {
        count.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { ok() })
    });
    let engine = start(&pool, EngineConfig { workers: 150, fetch_limit: 150, ..config() }, handler);
    until(&pool, "select exists(select from headgate.jobs where status = 1)").await;
    until(&pool, "select not exists(select from headgate.jobs where status = 1)").await;
    assert_eq!(begun.load(Ordering::SeqCst), 0);
    rename("emit_elsewhere", "pg_logical_emit_message").await.unwrap();
    until_recorded(&engine, jobs.len() as u64).await;
    assert_eq!(begun.load(Ordering::SeqCst), jobs.len());
    engine.shutdown().await;
    world.must_be_sound().await;
}
