//! Server time of every page of the console, over HTTP, with millions of jobs; and the plan of each statement as Postgres itself reports it
//! (`auto_explain`), so that the real statements are measured and no copies of them.

use crate::Options;
use crate::deployment::{self, Size};
use crate::program::{EMAIL, PASSWORD, Program};
use crate::report::{Report, Target, median, percentile};
use crate::world::{DATABASE, connect, execute, in_database};
use anyhow::{Context, Result, bail};
use reqwest::{Client, StatusCode, header, redirect};
use sqlx::{AssertSqlSafe, PgPool};
use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf, time::Instant};

/// The promised 95th percentile of every page, in milliseconds.
const PROMISED_MS: f64 = 100.0;

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let url = if options.filled {
        let url = in_database(server, DATABASE)?;
        // Removes the settings with which the earlier run logged plans.
        execute(&connect(&url, 1).await?, &format!("alter database {DATABASE} reset all")).await?;
        url
    } else {
        let size = Size::FULL.divided(if options.quick { 100 } else { options.divide.max(1) });
        let begun = Instant::now();
        let url = deployment::make(server, size).await?;
        report.note("filling the deployment", begun.elapsed().as_secs_f64(), "s");
        url
    };
    let pool = connect(&url, 2).await?;
    let paths = paths(&pool).await?;

    let program = Program::start(&url, 0).await?;
    let client = program.signed_in().await?;
    let mut slowest = Vec::new();
    for (what, path) in &paths {
        let times = program.times(&client, path, if options.quick { 5 } else { 20 }).await?;
        let p95 = percentile(&times, 95);
        slowest.push((path.clone(), p95));
        report.row(&format!("{what}, p95"), p95, "ms", Target::AtMost(PROMISED_MS));
        report.note(&format!("{what}, p50"), median(times.clone()), "ms");
    }
    program.stop().await?;

    let Some(log) = std::env::var_os("HEADGATE_BENCH_PGLOG").map(PathBuf::from) else {
        println!("no plans: HEADGATE_BENCH_PGLOG does not name the log of Postgres");
        return Ok(());
    };
    let plans = plans(&url, &pool, &paths, &log).await?;
    let out = options.json.with_file_name("bench-plans.txt");
    std::fs::write(&out, listing(&paths, &plans, &slowest)).with_context(|| out.display().to_string())?;
    println!("-- the plan of each statement of each page: {}", out.display());
    for ((what, path), found) in paths.iter().zip(&plans) {
        let Some(worst) = found.iter().max_by(|a, b| a.ms.total_cmp(&b.ms)) else { continue };
        report.note(&format!("{what}, slowest statement of {}", found.len()), worst.ms, "ms");
        if slowest.iter().any(|(slow, p95)| slow == path && *p95 > PROMISED_MS) {
            println!("{}", worst.text);
        }
    }
    Ok(())
}

/// The measured pages: name and path.
async fn paths(pool: &PgPool) -> Result<Vec<(&'static str, String)>> {
    let one = async |sql: &'static str| -> Result<String> {
        sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(pool).await.with_context(|| sql.to_owned())
    };
    let integration = one("select id::text from headgate.integrations order by id offset 7 limit 1").await?;
    let app = one("select id::text from headgate.apps order by id offset 7 limit 1").await?;
    let waiting = one("select id::text from headgate.jobs where status = 0 order by id desc limit 1").await?;
    let retrying =
        one("select id::text from headgate.jobs where status = 2 order by id desc limit 1").await?;
    let finished = one("select id::text from headgate.finished_jobs order by id desc limit 1").await?;
    let letter = one("select id::text from headgate.dead_letter_jobs order by id desc limit 1").await?;
    let record = one("select record_id from headgate.dead_letter_jobs order by id desc limit 1").await?;
    let cause = one("select fingerprint from headgate.dead_letter_jobs order by id desc limit 1").await?;
    let of = |text: &str| text.to_owned();
    Ok(vec![
        ("overview", of("/")),
        ("overview, 7 days", of("/?window=7d")),
        ("wallboard", of("/wall")),
        ("integrations", of("/integrations")),
        ("integrations by app", of("/integrations?group=app")),
        ("one integration", format!("/integrations/{integration}")),
        ("jobs", of("/jobs")),
        ("jobs, pending", of("/jobs?status=pending")),
        ("jobs, to be retried", of("/jobs?status=to_be_retried")),
        ("jobs, retrying", of("/jobs?status=retrying")),
        ("jobs, processing", of("/jobs?status=processing")),
        ("jobs, completed", of("/jobs?status=completed")),
        ("jobs, cancelled", of("/jobs?status=cancelled")),
        ("jobs, failed", of("/jobs?status=failed")),
        ("jobs of an integration", format!("/jobs?integration_id={integration}")),
        ("jobs of an integration, failed", format!("/jobs?integration_id={integration}&status=failed")),
        ("jobs of an app", format!("/jobs?app_id={app}")),
        ("jobs of a record", format!("/jobs?app_id={app}&record_type=product&record_id={record}")),
        ("jobs of a correlation id", of("/jobs?correlation_id=order-77")),
        (
            "jobs of an integration, to be retried",
            format!("/jobs?integration_id={integration}&status=to_be_retried"),
        ),
        ("jobs, older than an hour", of("/jobs?min_age=1h")),
        ("jobs, answered 503", of("/jobs?status=failed&response_status=503")),
        ("jobs by error text", of("/jobs?status=failed&error=unknown")),
        ("jobs by error text, any state", of("/jobs?error=unknown")),
        ("jobs by error text, rare", of("/jobs?error=of+7+is")),
        ("jobs by type", of("/jobs?job_type=record.updated")),
        ("jobs by type, none", of("/jobs?job_type=never")),
        ("jobs by record type, none", of("/jobs?record_type=never")),
        ("jobs by record id", format!("/jobs?record_id={record}")),
        ("jobs by record id, none", of("/jobs?record_id=never")),
        ("jobs searched by record id", format!("/jobs?q={record}")),
        ("jobs searched by correlation id", of("/jobs?q=order-77")),
        ("jobs searched by job id", format!("/jobs?q={waiting}")),
        ("jobs searched, none", of("/jobs?q=never")),
        ("jobs never tried", of("/jobs?attempt=0")),
        ("jobs tried often", of("/jobs?attempt=9")),
        ("jobs of an app that has none", format!("/jobs?app_id={}", uuid::Uuid::nil())),
        ("jobs accepted lately", of("/jobs?max_age=15m")),
        ("jobs finished long ago", of("/jobs?finished_before=2020-01-01T00:00:00Z")),
        ("dead letters searched by record id", format!("/dead-letters?q={record}")),
        ("dead letters by error text, rare", of("/dead-letters?error=of+7+is")),
        ("dead letters by type, none", of("/dead-letters?job_type=never")),
        ("job, pending", format!("/jobs/{waiting}")),
        ("job, to be retried", format!("/jobs/{retrying}")),
        ("job, completed", format!("/jobs/{finished}")),
        ("job, failed", format!("/jobs/{letter}")),
        ("trail of a record", format!("/records?q={record}")),
        ("trail of a correlation id", of("/records?q=order-77")),
        ("trail of an app", of("/records?q=Customer+7")),
        ("dead letters", of("/dead-letters")),
        ("dead letters of an integration", format!("/dead-letters?integration_id={integration}")),
        ("dead letters of a cause", format!("/dead-letters?fingerprint={cause}")),
        ("failures", of("/failures")),
        ("re-syncs", of("/resyncs")),
        ("bulk operations", of("/operations")),
        ("rate limits", of("/rate-limits")),
        ("workers", of("/workers")),
        ("audit log", of("/audit-log")),
        (
            "audit log of an integration",
            format!("/audit-log?object_kind=integration&object_id={integration}"),
        ),
        ("users", of("/settings")),
        ("retention", of("/settings?show=retention")),
    ])
}

impl Program {
    /// The client of a signed-in operator, like a browser without JavaScript.
    async fn signed_in(&self) -> Result<Client> {
        let form = format!("email={}&password={}", EMAIL.replace('@', "%40"), PASSWORD.replace(' ', "+"));
        let answer = Client::builder()
            .redirect(redirect::Policy::none())
            .build()?
            .post(format!("{}/sign-in", self.url))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form)
            .send()
            .await?;
        let cookie = answer.headers().get(header::SET_COOKIE).context("cannot sign in")?.to_str()?;
        let pair = cookie.split(';').next().unwrap_or_default().to_owned();
        let headers = header::HeaderMap::from_iter([(header::COOKIE, pair.parse()?)]);
        Ok(Client::builder().default_headers(headers).redirect(redirect::Policy::none()).build()?)
    }

    /// Milliseconds until the last byte, for each request. A first request warms the caches, because pages are usually opened repeatedly.
    async fn times(&self, client: &Client, path: &str, times: usize) -> Result<Vec<f64>> {
        self.open(client, path).await?;
        let mut taken = Vec::with_capacity(times);
        for _ in 0..times {
            let started = Instant::now();
            self.open(client, path).await?;
            taken.push(started.elapsed().as_secs_f64() * 1_000.0);
        }
        Ok(taken)
    }

    async fn open(&self, client: &Client, path: &str) -> Result<()> {
        let answer = client.get(format!("{}{path}", self.url)).send().await?;
        let status = answer.status();
        let body = answer.text().await?;
        // A page that timed out has taken its time all the same, and the others are still worth measuring.
        if status == StatusCode::SERVICE_UNAVAILABLE {
            println!("{path} was answered with {status}");
        } else if !status.is_success() {
            let end = body.len().min(2_000);
            bail!("{path} was answered with {status}: {}", body.get(..end).unwrap_or_default());
        }
        Ok(())
    }
}

/// A statement's plan and duration.
struct Plan {
    ms: f64,
    text: String,
}

const MARK: &str = "headgate-bench ";

/// Opens each page once more while Postgres logs the plans of the console's statements, and reads them from the log.
async fn plans(
    url: &str,
    pool: &PgPool,
    paths: &[(&'static str, String)],
    log: &std::path::Path,
) -> Result<Vec<Vec<Plan>>> {
    for setting in [
        "alter database headgate_bench set session_preload_libraries = 'auto_explain'".to_owned(),
        // The settings exist only once the library is loaded.
        "load 'auto_explain';
         alter database headgate_bench set auto_explain.log_min_duration = 0;
         alter database headgate_bench set auto_explain.log_analyze = on;
         alter database headgate_bench set auto_explain.log_buffers = on;
         alter database headgate_bench set auto_explain.log_timing = off"
            .to_owned(),
    ] {
        execute(pool, &setting).await?;
    }
    execute(pool, &format!("alter system set log_line_prefix = '{MARK}%a|'")).await?;
    execute(pool, "select pg_reload_conf()").await?;
    let program = Program::start(url, 0).await?;
    let client = program.signed_in().await?;
    let mut all = Vec::with_capacity(paths.len());
    for (_, path) in paths {
        // The first request prepares the statements; the second one is read.
        program.open(&client, path).await?;
        let before = std::fs::metadata(log)?.len();
        program.open(&client, path).await?;
        all.push(read_plans(log, before)?);
    }
    program.stop().await?;
    execute(pool, "alter system reset log_line_prefix").await?;
    execute(pool, "select pg_reload_conf()").await?;
    Ok(all)
}

/// The slowest run of each statement that the console's connections have run since then.
fn read_plans(log: &std::path::Path, since: u64) -> Result<Vec<Plan>> {
    let bytes = std::fs::read(log)?;
    let text = String::from_utf8_lossy(bytes.get(usize::try_from(since)?..).unwrap_or_default()).into_owned();
    let mut plans: BTreeMap<String, Plan> = BTreeMap::new();
    for entry in text.split(MARK) {
        let Some((application, said)) = entry.split_once('|') else { continue };
        let Some((head, plan)) = said.split_once("plan:") else { continue };
        let ms = head.split("duration: ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        let (true, Some(ms)) = (application.starts_with("headgate"), ms) else { continue };
        // The sampler and other background work go on meanwhile.
        if application == "headgate" {
            continue;
        }
        let statement = plan.lines().take_while(|line| !line.contains("(cost=")).collect::<String>();
        let slower = plans.get(&statement).is_none_or(|known: &Plan| known.ms < ms);
        if slower {
            plans.insert(statement, Plan { ms, text: plan.trim_end().to_owned() });
        }
    }
    Ok(plans.into_values().collect())
}

fn listing(paths: &[(&'static str, String)], plans: &[Vec<Plan>], times: &[(String, f64)]) -> String {
    let mut text = String::new();
    for ((what, path), plans) in paths.iter().zip(plans) {
        let p95 = times.iter().find(|(of, _)| of == path).map_or(f64::NAN, |(_, p95)| *p95);
        let _ = writeln!(text, "==== {what}: {path}, p95 {p95:.1} ms, {} statements", plans.len());
        for plan in plans {
            let _ = writeln!(text, "---- {:.1} ms\n{}\n", plan.ms, plan.text);
        }
    }
    text
}
