//! The floor: what Postgres does on this machine when bare statements do the same work, measured by `pgbench`.
//!
//! Claim and finish are plain updates of a plain table in batches of 500, without fairness, leases, counters or history; the insert is a
//! plain `insert … select from unnest`. Whatever is built on Postgres stays below it.

use crate::{
    Options,
    report::Report,
    world::{connect, execute, in_database, number},
};
use anyhow::{Context, Result, bail};
use std::{io::Write as _, path::Path, process::Command, time::Instant};

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

const INSERT: &str = "insert into lim.jobs (integration_id, payload) \
select lpad((g % 40)::text, 32, '0')::uuid, p from unnest(array_fill(0, array[:b::int])) with ordinality as x (zero, g), \
(select jsonb_build_object('i', 1, 'account', 'acct_1', 'url', 'https://example.test/hook/1', 'note', repeat('x', 120)) as p) y;
";

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let admin = connect(server, 1).await?;
    execute(&admin, &format!("drop database if exists {FLOOR} with (force)")).await?;
    execute(&admin, &format!("create database {FLOOR}")).await?;
    let url = in_database(server, FLOOR)?;
    let pool = connect(&url, 2).await?;

    execute(&pool, TABLE).await?;
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
    report.note(
        "floor: claim and finish, plain table, batches of 500 (pgbench, 4 clients)",
        drained,
        "jobs/s",
    );
    report.set_floor("drain", drained);

    execute(&pool, TABLE).await?;
    let took = pgbench(&url, INSERT, 1000, options.seconds)?;
    let inserted = number(&pool, "select count(*) from lim.jobs").await? as f64 / took;
    report.note("floor: insert by unnest, 1000 a statement (pgbench, 4 clients)", inserted, "jobs/s");
    report.set_floor("insert", inserted);
    execute(&admin, &format!("drop database if exists {FLOOR} with (force)")).await
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
