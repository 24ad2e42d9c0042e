//! A database of the bench's own, filled by plain SQL.

use anyhow::{Context, Result};
use model::id::{AppId, IntegrationId};
use queue::{pool::PoolSettings, store::jobs::JobSpec};
use sqlx::{AssertSqlSafe, PgPool, postgres::PgConnectOptions};
use std::str::FromStr;
use uuid::Uuid;

pub(crate) const DATABASE: &str = "headgate_bench";

const APP: Uuid = Uuid::from_u128(0x7000_8000_0000_0000_0001);

/// How many jobs, and how they are spread over lanes.
#[derive(Clone, Copy)]
pub(crate) struct Fill {
    pub jobs: u64,
    pub lanes: u64,
    /// The first lane has this percentage of all jobs, and they are the oldest.
    pub hot_percent: u64,
    /// Approximate bytes of each payload.
    pub payload_bytes: usize,
}

/// Creates the database, after dropping an old one; returns its address.
pub(crate) async fn fresh(server: &str) -> Result<String> {
    let admin = PgPool::connect(server).await.context("the Postgres server of the bench")?;
    execute(&admin, &format!("drop database if exists {DATABASE} with (force)")).await?;
    execute(&admin, &format!("create database {DATABASE}")).await?;
    execute(&admin, "checkpoint").await?;
    let url = in_database(server, DATABASE)?;
    let pool = connect(&url, 5).await?;
    queue::migrate::run(&pool).await?;
    execute(
        &pool,
        "insert into headgate.apps (id, name, slug) values ('00000000-0000-7000-8000-000000000001', 'Bench', 'bench')",
    )
    .await?;
    Ok(url)
}

/// The address of another database on the same server.
pub(crate) fn in_database(server: &str, database: &str) -> Result<String> {
    PgConnectOptions::from_str(server).context("DATABASE_URL")?;
    let (head, query) = server.split_once('?').map_or((server, ""), |(head, query)| (head, query));
    let base = head.rsplit_once('/').context("DATABASE_URL names no database")?.0;
    Ok(format!("{base}/{database}?{query}"))
}

pub(crate) async fn connect(url: &str, connections: u32) -> Result<PgPool> {
    Ok(queue::pool::connect(&PoolSettings {
        url: url.to_owned(),
        max_connections: connections,
        application_name: "bench".into(),
        statement_timeout: Some(std::time::Duration::from_secs(3600)),
    })
    .await?)
}

pub(crate) async fn execute(pool: &PgPool, sql: &str) -> Result<()> {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(pool).await.with_context(|| sql.to_owned())?;
    Ok(())
}

pub(crate) async fn number(pool: &PgPool, sql: &str) -> Result<i64> {
    sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(pool).await.with_context(|| sql.to_owned())
}

/// The id of the n-th lane.
pub(crate) fn lane(n: u64) -> Uuid {
    Uuid::from_u128(0x7000_8000_0000_0000_0000 + u128::from(n))
}

/// Creates open lanes with this concurrency limit.
pub(crate) async fn make_lanes(pool: &PgPool, lanes: u64, max_concurrency: i32) -> Result<()> {
    execute(
        pool,
        &format!(
            "insert into headgate.integrations (id, app_id, name, integration_type, endpoint_url, signing_secret_sealed)
             select {LANE_SQL}, '00000000-0000-7000-8000-000000000001', 'Bench ' || n, 'webhook', 'https://bench.test', ''
             from generate_series(0, {lanes} - 1) n on conflict do nothing;
             insert into headgate.lanes (integration_id, app_id, is_external, is_open, max_concurrency)
             select {LANE_SQL}, '00000000-0000-7000-8000-000000000001', false, true, {max_concurrency}
             from generate_series(0, {lanes} - 1) n on conflict do nothing"
        ),
    )
    .await
}

/// [`lane`] in SQL.
pub(crate) const LANE_SQL: &str = "('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid";

/// Fills `jobs` and `ready` with pending jobs, and sets the counters.
pub(crate) async fn fill(pool: &PgPool, fill: Fill) -> Result<()> {
    let Fill { jobs, lanes, hot_percent, payload_bytes } = fill;
    let others = lanes.max(2) - 1;
    let hot_jobs = jobs * hot_percent / 100;
    let note = payload_bytes.saturating_sub(80);
    execute(
        pool,
        &format!(
            "set synchronous_commit = off;
             insert into headgate.jobs (id, app_id, integration_id, created_at, run_at, rank, max_attempts, job_type, deduplication_id,
                 correlation_id, payload)
             select
                 (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(g), 19, '0'))::uuid,
                 '00000000-0000-7000-8000-000000000001', {LANE_SQL}, at, at, 0, 10, 'record.updated', 'product:' || g,
                 (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(g), 19, '0'))::uuid::text,
                 jsonb_build_object('i', g, 'account', 'acct_' || g % 997, 'url', 'https://example.test/hook/' || g,
                     'note', repeat('x', {note}))
             from (
                 select g, clock_timestamp() - interval '1 day' + g * interval '1 ms' as at,
                     case when g <= {hot_jobs} then 0 when {lanes} = 1 then 0 when {hot_percent} = 0 then g % {lanes} else 1 + g % {others} end as n
                 from generate_series(1, {jobs}) g
             ) made;
             insert into headgate.ready (integration_id, rank, created_at, job_id)
             select integration_id, rank, created_at, id from headgate.jobs where status = 0
             order by integration_id, rank, created_at, id on conflict do nothing;
             insert into headgate.job_count_deltas (integration_id, status, attempt, n)
             select integration_id, 0, 0, count(*) from headgate.jobs where status = 0 group by 1;
             reset synchronous_commit"
        ),
    )
    .await?;
    execute(pool, "vacuum analyze").await?;
    execute(pool, "checkpoint").await
}

/// How many live jobs are left.
pub(crate) async fn left(pool: &PgPool) -> Result<u64> {
    Ok(u64::try_from(number(pool, "select count(*) from headgate.jobs").await?)?)
}

/// A payload of about 200 bytes.
pub(crate) fn payload(n: u64) -> serde_json::Value {
    serde_json::json!({"i": n, "account": "acct_1", "url": "https://example.test/hook/1", "note": "x".repeat(120)})
}

/// A plain job of one of forty lanes.
pub(crate) fn job(n: u64) -> JobSpec {
    JobSpec {
        app_id: AppId(APP),
        integration_id: IntegrationId(lane(n % 40)),
        job_type: "invoice.generate".into(),
        payload: Some(payload(n)),
        record: None,
        deduplication_id: None,
        serialize_key: None,
        correlation_id: Uuid::now_v7().to_string(),
        trace: None,
        batch_id: None,
        priority: 0,
        run_at: None,
        gathers_until: None,
        expires_at: None,
        max_attempts: 10,
        timeout_ms: None,
        is_full: false,
    }
}
