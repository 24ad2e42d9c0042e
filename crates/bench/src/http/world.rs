//! An app with integrations, made through the API, and what is measured of them.

use crate::{
    cpu::used_by_tree,
    drain::postmaster,
    program::Program,
    world::{execute, number},
};
use anyhow::{Context, Result};
use reqwest::Client;
use serde_json::json;
use sqlx::PgPool;
use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

/// An app whose records go to so many webhooks at one address; answers the app's id.
pub(super) async fn app(
    program: &Program,
    client: &Client,
    integrations: usize,
    endpoint: &str,
) -> Result<String> {
    let app = program
        .post(client, "/apps", json!({"name": format!("Bench to {integrations}")}).to_string())
        .await?;
    let app = app["id"].as_str().context("an app has an id")?.to_owned();
    for n in 0..integrations {
        let made = json!({"app_id": app, "name": format!("Shop {n}"), "integration_type": "webhook", "endpoint_url": endpoint});
        program.post(client, "/integrations", made.to_string()).await?;
    }
    Ok(app)
}

/// One event of some 250 bytes about record `n`.
pub(super) fn event(app: &str, n: u64) -> String {
    format!(
        r#"{{"app_id":"{app}","type":"record.updated","record_type":"product","record_id":"p-{n}","attributes":{{"name":"Product {n}","price":{}.95,"stock":{},"sku":"SKU-{n}","is_active":true}}}}"#,
        n % 1000,
        n % 97,
    )
}

/// Events about `count` records from `first` on, as an array.
pub(super) fn events(app: &str, first: u64, count: u64) -> String {
    let mut body = String::with_capacity(usize::try_from(count).unwrap_or(0) * 280);
    for n in first..first + count {
        let _ = write!(body, "{}{}", if n == first { '[' } else { ',' }, event(app, n));
    }
    body.push(']');
    body
}

/// Waits until no job is live.
pub(super) async fn drained(pool: &PgPool, patience: Duration) -> Result<()> {
    let begun = Instant::now();
    loop {
        // Counting them would take a tenth of what is measured.
        if number(pool, "select count(*) from (select from headgate.jobs limit 1) one").await? == 0 {
            return Ok(());
        }
        anyhow::ensure!(begun.elapsed() < patience, "jobs are left after {patience:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Processor time used since it was begun, by the database and by the program.
pub(super) struct Spent {
    postmaster: u32,
    program: u32,
    database_before: Duration,
    program_before: Duration,
}

impl Spent {
    pub(super) async fn begin(pool: &PgPool, program: &Program) -> Result<Self> {
        // Where Postgres has it, it says which statement took the time.
        let _ = execute(pool, "select pg_stat_statements_reset()").await;
        let (postmaster, program) = (postmaster(pool).await?, program.id()?);
        Ok(Self {
            postmaster,
            program,
            database_before: used_by_tree(postmaster)?,
            program_before: used_by_tree(program)?,
        })
    }

    /// Microseconds a piece of work, of the database and of the program.
    pub(super) fn per(&self, pieces: u64) -> Result<(f64, f64)> {
        let each =
            |now: Duration, before: Duration| (now - before).as_secs_f64() * 1e6 / pieces.max(1) as f64;
        Ok((
            each(used_by_tree(self.postmaster)?, self.database_before),
            each(used_by_tree(self.program)?, self.program_before),
        ))
    }
}

/// The statements that took most of the database's time, a piece of work: only told, and only where Postgres keeps them.
pub(super) async fn statements(pool: &PgPool, pieces: u64) {
    let asked = sqlx::query_as::<_, (f64, f64, i64, String)>(
        "select (total_exec_time * 1000)::float8, (total_plan_time * 1000)::float8, calls,
             left(regexp_replace(query, '\\s+', ' ', 'g'), 90)
         from pg_stat_statements s join pg_database d on d.oid = s.dbid and d.datname = current_database()
         where toplevel order by total_exec_time + total_plan_time desc limit 14",
    );
    let Ok(rows) = asked.fetch_all(pool).await else { return };
    for (run, planned, calls, query) in rows {
        let (run, planned) = (run / pieces as f64, planned / pieces as f64);
        println!("   {run:>8.1} us run, {planned:>7.1} us planned, {calls:>7} calls: {query}");
    }
}
