//! An app with integrations, created through the API, and the measurements.

use crate::cpu::used_by_tree;
use crate::drain::postmaster;
use crate::program::{Operator, Program};
use crate::report::Report;
use crate::world::{connect, execute, fresh, number};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use sqlx::PgPool;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A program on a database of its own, and an app in it.
pub(super) struct Stage {
    pub(super) url: String,
    pub(super) pool: PgPool,
    pub(super) program: Program,
    pub(super) operator: Operator,
    pub(super) app: String,
}

impl Stage {
    /// An app whose records go to this many webhooks at one address.
    pub(super) async fn create(
        server: &str,
        workers: usize,
        integrations: usize,
        endpoint: &str,
    ) -> Result<Self> {
        let url = fresh(server).await?;
        let pool = connect(&url, 2).await?;
        // Optional: it only adds the slowest statements to the output.
        let _ = execute(&pool, "create extension if not exists pg_stat_statements").await;
        let program = Program::start(&url, workers).await?;
        let operator = program.operator()?;
        let app =
            operator.post("/apps", json!({"name": format!("Bench to {integrations}")}).to_string()).await?;
        let stage = Self { url, pool, program, operator, app: id(&app)? };
        for n in 0..integrations {
            stage.webhook(&format!("Shop {n}"), endpoint).await?;
        }
        Ok(stage)
    }

    /// Creates another integration; returns its id.
    pub(super) async fn webhook(&self, name: &str, endpoint: &str) -> Result<String> {
        let made = json!({"app_id": self.app, "name": name, "integration_type": "webhook", "endpoint_url": endpoint});
        id(&self.operator.post("/integrations", made.to_string()).await?)
    }
}

fn id(made: &Value) -> Result<String> {
    Ok(made["id"].as_str().context("what is made has an id")?.to_owned())
}

/// Clients that each send the next events as soon as the last ones are accepted.
pub(super) struct Producers<'a> {
    stage: &'a Stage,
    clients: usize,
    /// Events of a request, sent as an array if more than one.
    each: u64,
    next: Arc<AtomicU64>,
}

impl<'a> Producers<'a> {
    pub(super) fn new(stage: &'a Stage, clients: usize, each: u64) -> Self {
        Self { stage, clients, each, next: Arc::default() }
    }

    /// Sends for this long; returns how many events were accepted, and how many a second.
    pub(super) async fn send_for(&self, time: Duration) -> Result<(u64, f64)> {
        let (begun, before) = (Instant::now(), self.next.load(Ordering::Relaxed));
        let mut clients = tokio::task::JoinSet::new();
        for _ in 0..self.clients {
            let (operator, app) = (self.stage.operator.clone(), self.stage.app.clone());
            let (next, each) = (Arc::clone(&self.next), self.each);
            clients.spawn(async move {
                while begun.elapsed() < time {
                    let first = next.fetch_add(each, Ordering::Relaxed);
                    let body = if each == 1 { event(&app, first) } else { events(&app, first, each) };
                    operator.post("/events", body).await?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(client) = clients.join_next().await {
            client??;
        }
        let made = self.next.load(Ordering::Relaxed) - before;
        Ok((made, made as f64 / begun.elapsed().as_secs_f64()))
    }
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

/// Waits until no live job is left.
pub(super) async fn drained(pool: &PgPool, timeout: Duration) -> Result<()> {
    let begun = Instant::now();
    loop {
        // Counting all of them would take a tenth of the measured time.
        if number(pool, "select count(*) from (select from headgate.jobs limit 1) one").await? == 0 {
            return Ok(());
        }
        anyhow::ensure!(begun.elapsed() < timeout, "jobs are left after {timeout:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Processor time of the database and the program since [`begin`](Self::begin).
pub(super) struct Spent {
    postmaster: u32,
    program: u32,
    database_before: Duration,
    program_before: Duration,
}

impl Spent {
    pub(super) async fn begin(pool: &PgPool, program: &Program) -> Result<Self> {
        // If Postgres has the extension, it shows which statements took the time.
        let _ = execute(pool, "select pg_stat_statements_reset()").await;
        let (postmaster, program) = (postmaster(pool).await?, program.id()?);
        Ok(Self {
            postmaster,
            program,
            database_before: used_by_tree(postmaster)?,
            program_before: used_by_tree(program)?,
        })
    }

    /// Reports both, and the statements that took most of the time; returns the sum.
    pub(super) async fn report(
        &self,
        report: &mut Report,
        what: &str,
        pool: &PgPool,
        pieces: u64,
    ) -> Result<f64> {
        let (database, own) = self.per(pieces)?;
        report.note(&format!("{what}, processor of the database"), database, "us");
        report.note(&format!("{what}, processor of headgate"), own, "us");
        statements(pool, pieces).await;
        Ok(database + own)
    }

    /// Microseconds for each piece of work, of the database and of the program.
    pub(super) fn per(&self, pieces: u64) -> Result<(f64, f64)> {
        let each =
            |now: Duration, before: Duration| (now - before).as_secs_f64() * 1e6 / pieces.max(1) as f64;
        Ok((
            each(used_by_tree(self.postmaster)?, self.database_before),
            each(used_by_tree(self.program)?, self.program_before),
        ))
    }
}

/// Prints the statements that took most of the database's time for each piece of work, if Postgres has `pg_stat_statements`.
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
