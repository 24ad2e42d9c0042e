//! What one claim costs, depending on the tables: jobs that may not run now, a backlog of millions, millions of finished rows.
//!
//! The claim is the engine's own statement; each is rolled back, so that the next one finds the same state. Medians are compared.

use crate::Options;
use crate::report::{Report, Target};
use crate::world::{Fill, LANE_SQL, connect, execute, fill, fresh, make_lanes};
use anyhow::{Context, Result};
use model::id::WorkerId;
use queue::store::jobs::{ClaimRequest, claim_and_roll_back};
use sqlx::PgPool;
use std::{collections::HashMap, time::Instant};

const WANTED: usize = 100;

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let large = if options.quick { 100_000 } else { 10_000_000 };
    let middle = large / 10;
    for lanes in [40, 5_000] {
        let mut base = None;
        for jobs in [10_000, middle, large] {
            let pool = world(server, lanes, jobs).await?;
            let took = median(&pool).await?;
            let what =
                format!("claim of {WANTED}, {jobs} live jobs, {lanes} integrations, the hot one at its cap");
            report.note(&what, took, "ms");
            let least = *base.get_or_insert(took);
            if jobs == large {
                let what = format!("claim with {jobs} live jobs against 10000, {lanes} integrations");
                report.row(&what, took / least, "x", Target::AtMost(1.5));
            }
        }
    }
    let pool = world(server, 40, 10_000).await?;
    let plain = median(&pool).await?;
    execute(&pool, &unclaimable(100_000)).await?;
    execute(&pool, "vacuum analyze").await?;
    let blocked = median(&pool).await?;
    report.row(
        "claim with 100000 sleeping, keyed and paused jobs before it",
        blocked / plain,
        "x",
        Target::AtMost(1.2),
    );

    let pool = world(server, 40, 10_000).await?;
    let plain = median(&pool).await?;
    execute(&pool, &finished(large)).await?;
    execute(&pool, "vacuum analyze").await?;
    let behind = median(&pool).await?;
    report.row(&format!("claim with {large} finished rows"), behind / plain, "x", Target::AtMost(1.1));
    Ok(())
}

/// Jobs spread over lanes, of which the first has 90 % and is at its concurrency limit. Lanes without work sleep, as they do after some seconds.
async fn world(server: &str, lanes: u64, jobs: u64) -> Result<PgPool> {
    let url = fresh(server).await?;
    let pool = connect(&url, 2).await?;
    make_lanes(&pool, lanes, 50).await?;
    fill(&pool, Fill { jobs, lanes, hot_percent: 90, payload_bytes: 200 }).await?;
    execute(
        &pool,
        &format!(
            "insert into headgate.job_counts (integration_id, status, attempt, n)
             select {LANE_SQL}, 1, 1, 50 from generate_series(0, 0) n
             on conflict (integration_id, status, attempt) do update set n = 50;
             update headgate.lanes l set is_asleep = true
             where not exists (select 1 from headgate.ready r where r.integration_id = l.integration_id)"
        ),
    )
    .await?;
    Ok(pool)
}

/// Jobs that may not be claimed, older than all others: scheduled, behind another one of their key, or of a paused integration.
fn unclaimable(jobs: u64) -> String {
    format!(
        "insert into headgate.integrations (id, app_id, name, integration_type, endpoint_url, signing_secret_sealed, state)
         select {LANE_SQL}, '00000000-0000-7000-8000-000000000001', 'Paused', 'webhook', 'https://bench.test', '', 'paused'
         from generate_series(900000, 900000) n;
         insert into headgate.lanes (integration_id, app_id, is_external, is_open, max_concurrency)
         select {LANE_SQL}, '00000000-0000-7000-8000-000000000001', false, false, 50 from generate_series(900000, 900000) n;
         insert into headgate.jobs (id, app_id, integration_id, created_at, run_at, rank, max_attempts, job_type, correlation_id, serialize_key)
         select gen_random_uuid(), '00000000-0000-7000-8000-000000000001', {LANE_SQL}, clock_timestamp() - interval '2 days',
             clock_timestamp() + interval '1 day', 0, 10, 'x', 'c', case when g % 3 = 1 then 'k' || g % 100 end
         from (select g, case when g % 3 = 2 then 900000 else g % 40 end as n from generate_series(1, {jobs}) g) made;
         insert into headgate.waiting (due_at, job_id, integration_id)
         select run_at, id, integration_id from headgate.jobs where job_type = 'x' and serialize_key is null;
         insert into headgate.ready (integration_id, rank, created_at, job_id)
         select integration_id, rank, created_at, id from headgate.jobs where integration_id = (
             select {LANE_SQL} from generate_series(900000, 900000) n)"
    )
}

fn finished(rows: u64) -> String {
    format!(
        "insert into headgate.finished_jobs (id, app_id, integration_id, created_at, run_at, started_at, finished_at, duration_ms, status, priority,
             attempt, max_attempts, is_full, folded, job_type, record_type, record_id, deduplication_id, correlation_id, outcome)
         select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n), 19, '0'))::uuid,
             '00000000-0000-7000-8000-000000000001', {LANE_SQL}, at, at, at, clock_timestamp(), 5, 3, 0, 1, 10, false, 0, 'record.updated',
             'product', 'sku-' || g, 'product:' || g, gen_random_uuid()::text, 'sent'
         from (select g, g % 40 as n, clock_timestamp() - interval '1 day' + g * interval '1 ms' as at from generate_series(1, {rows}) g) made"
    )
}

async fn median(pool: &PgPool) -> Result<f64> {
    let claims = ClaimRequest {
        worker_id: WorkerId::generate(),
        wanted: WANTED,
        lane_cap: WANTED,
        busy: HashMap::new(),
        program: None,
    };
    let mut times = Vec::new();
    for round in 0..60 {
        let began_at = Instant::now();
        let claimed = claim_and_roll_back(pool, &claims).await?;
        let took = began_at.elapsed();
        anyhow::ensure!(claimed == WANTED, "only {claimed} jobs could be claimed");
        if round >= 10 {
            times.push(took.as_secs_f64() * 1e3);
        }
    }
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().context("no claim was made")
}
