//! The floor: what Postgres does on this machine when bare statements do the same work, the first measured by `pgbench`.
//!
//! Claim and finish are plain updates of a plain table in batches of 500, without fairness, leases, counters or history; the insert is a
//! plain `insert … select from unnest` of rows that clients send. Whatever is built on Postgres stays below it.
//!
//! A machine that others share changes its speed within a minute, so each floor is measured in turns with what is held against it.

use crate::{
    Options,
    world::{connect, execute, in_database, lane, number, payload},
};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::{
    io::Write as _,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use uuid::Uuid;

const FLOOR: &str = "headgate_floor";

const TABLE: &str = "drop schema if exists lim cascade; create schema lim;
create table lim.jobs (id uuid primary key default gen_random_uuid(), integration_id uuid not null, status text not null default 'pending',
    priority text not null default 'medium', prio smallint not null default 2, payload jsonb not null, attempts int not null default 0,
    created_at timestamptz not null default now(), started_at timestamptz, completed_at timestamptz);
create index on lim.jobs (prio, created_at) where status = 'pending'";

const DRAIN: &str = "with c as (select id from lim.jobs where status='pending' order by prio, created_at limit :b for update skip locked), \
u as (update lim.jobs j set status='processing', started_at=now(), attempts=attempts+1 from c where j.id=c.id returning j.id, j.payload) \
select coalesce(array_agg(id), '{}') as ids, count(*) as n, sum(length(payload::text)) as bytes from u \\gset
update lim.jobs set status='completed', completed_at=now() where id = any(:ids::uuid[]);
";

/// Jobs a second: claim and finish, by pgbench with four clients.
pub(crate) async fn drain(options: &Options, server: &str) -> Result<f64> {
    let url = fresh(server).await?;
    let pool = connect(&url, 2).await?;
    let rows = options.seconds * 70_000;
    execute(
        &pool,
        &format!(
            "insert into lim.jobs (integration_id, payload, created_at)
             select lpad((g % 40)::text, 32, '0')::uuid, jsonb_build_object('i', g, 'account', 'acct_' || g % 997,
                 'url', 'https://example.test/hook/' || g, 'note', repeat('x', 120)), now() - interval '1 day' + g * interval '1 ms'
             from generate_series(1, {rows}) g; "
        ),
    )
    .await?;
    execute(&pool, "vacuum analyze").await?;
    execute(&pool, "checkpoint").await?;
    let pending = "select count(*) from lim.jobs where status = 'pending'";
    let before = number(&pool, pending).await?;
    let took = pgbench(&url, DRAIN, 500, options.seconds)?;
    let drained = (before - number(&pool, pending).await?) as f64 / took;
    gone(server).await?;
    Ok(drained)
}

/// Jobs a second: insert by `unnest`, 1,000 a statement, by four clients that send the rows.
pub(crate) async fn insert(options: &Options, server: &str) -> Result<f64> {
    let url = fresh(server).await?;
    let inserted = by_clients(&url, Duration::from_secs(options.seconds)).await?;
    gone(server).await?;
    Ok(inserted)
}

/// An empty database for what is held against us.
pub(crate) async fn database(server: &str) -> Result<String> {
    gone(server).await?;
    execute(&connect(server, 1).await?, &format!("create database {FLOOR}")).await?;
    in_database(server, FLOOR)
}

async fn fresh(server: &str) -> Result<String> {
    let url = database(server).await?;
    execute(&connect(&url, 1).await?, TABLE).await?;
    Ok(url)
}

async fn gone(server: &str) -> Result<()> {
    execute(&connect(server, 1).await?, &format!("drop database if exists {FLOOR} with (force)")).await
}

/// The bare statement, by clients that send what they insert: pgbench cannot, and rows made by the server cost it no parsing.
async fn by_clients(url: &str, time: Duration) -> Result<f64> {
    let pool = connect(url, 8).await?;
    let inserted = Arc::new(AtomicU64::new(0));
    let began_at = Instant::now();
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (pool, inserted) = (pool.clone(), Arc::clone(&inserted));
        clients.spawn(async move {
            while began_at.elapsed() < time {
                let lanes: Vec<Uuid> = (0..1000).map(|n| lane(n % 40)).collect();
                let payloads: Vec<Value> = (0..1000).map(payload).collect();
                sqlx::query("insert into lim.jobs (integration_id, payload) select * from unnest($1::uuid[], $2::jsonb[])")
                    .bind(lanes)
                    .bind(payloads)
                    .execute(&pool)
                    .await?;
                inserted.fetch_add(1000, Ordering::Relaxed);
            }
            anyhow::Ok(())
        });
    }
    while let Some(client) = clients.join_next().await {
        client??;
    }
    Ok(inserted.load(Ordering::Relaxed) as f64 / began_at.elapsed().as_secs_f64())
}

/// Runs a script; answers the seconds it ran.
fn pgbench(url: &str, script: &str, batch: u64, seconds: u64) -> Result<f64> {
    let path = std::env::temp_dir().join(format!("headgate-floor-{}.sql", std::process::id()));
    std::fs::File::create(&path)?.write_all(script.as_bytes())?;
    let began_at = Instant::now();
    let output = Command::new(program())
        .args(["-n", "-M", "prepared", "-c", "4", "-j", "2", "-T"])
        .arg(seconds.to_string())
        .arg("-D")
        .arg(format!("b={batch}"))
        .arg("-f")
        .arg(&path)
        .arg(url)
        .env("PGOPTIONS", "-c jit=off")
        .output()
        .context("pgbench, which comes with the PostgreSQL server, cannot be started")?;
    let took = began_at.elapsed().as_secs_f64();
    std::fs::remove_file(&path)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() || said.contains("ERROR") {
        bail!("pgbench failed: {said}");
    }
    Ok(took)
}

/// Beside the server's programs, when it is not on the path.
fn program() -> std::path::PathBuf {
    std::env::var_os("HEADGATE_BENCH_PGBIN")
        .map_or_else(|| "pgbench".into(), |dir| Path::new(&dir).join("pgbench"))
}
