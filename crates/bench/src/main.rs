//! `make bench`: what the engine costs on this machine, compared with the floor that bare statements set in the same run, and how long the console's
//! pages take with millions of jobs.
//!
//! Absolute numbers depend on the machine; the ratios depend on us. Every scenario creates its data in a database of its own (`headgate_bench`) and
//! prints rows; all rows are written as JSON. It is not part of `make test`, because it needs the machine for itself.

mod claims;
mod cpu;
mod deployment;
mod drain;
mod enqueue;
mod floor;
mod http;
mod memory;
mod pages;
mod pickup;
mod plain;
mod program;
mod rates;
mod report;
mod worker;
mod world;

use anyhow::{Context, Result, bail};
use clap::Parser;
use report::Report;
use std::path::PathBuf;

/// Measures what the engine costs, compared with bare Postgres.
#[derive(Parser)]
#[command(name = "bench")]
pub(crate) struct Options {
    /// Scenarios to run, comma-separated: accept, deliver, single, latency, live, reads, idle, enqueue, drain, payloads, sustained, pickup, rates, claims, memory, pages. Default: all.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// A tenth of all data, to try whether it works.
    #[arg(long)]
    quick: bool,
    /// Missed targets are reported but are no failure: for a shared machine.
    #[arg(long)]
    report_only: bool,
    /// How often each rate is measured in turns with its floor.
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// How many seconds each rate is measured.
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// Further numbers of worker processes for the drain, which is always measured with one; comma-separated.
    #[arg(long, value_delimiter = ',', default_value = "2,4")]
    processes: Vec<usize>,
    /// Divides the data of the pages: ten million live jobs, ten million finished ones and a million dead letters.
    #[arg(long, default_value_t = 1)]
    divide: u64,
    /// Uses the data of the pages that an earlier run left on this server, instead of creating it again.
    #[arg(long)]
    filled: bool,
    /// Path of the JSON file.
    #[arg(long, default_value = "target/bench.json")]
    json: PathBuf,
    /// Runs a worker process of the drain; the bench starts it itself.
    #[arg(long, hide = true)]
    worker: bool,
    /// Runs the external system of the deliveries on this port, as a process whose time is not counted; the bench starts it itself.
    #[arg(long, hide = true)]
    receiver: Option<u16>,
    /// Most jobs the worker runs at once.
    #[arg(long, hide = true, default_value_t = 1000)]
    slots: usize,
}

/// The server's allocator: thousands of small tasks a second cost a fifth less than with the C library's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_from_env("HEADGATE_LOG")
        .unwrap_or_else(|_| "warn,sqlx=error".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let options = Options::parse();
    let server = std::env::var("DATABASE_URL").context(
        "DATABASE_URL must name a Postgres superuser's database: `make bench` starts a private server",
    )?;
    if let Some(port) = options.receiver {
        return http::receiver::run(port).await;
    }
    if options.worker {
        return worker::run(&server, options.slots).await;
    }
    run(&options, &server).await
}

async fn run(options: &Options, server: &str) -> Result<()> {
    let mut report = Report::new(options);
    for scenario in &options.only {
        if !SCENARIOS.contains(&scenario.as_str()) {
            bail!("no scenario is named {scenario}; the scenarios are {}", SCENARIOS.join(", "));
        }
    }
    for scenario in SCENARIOS {
        if !options.only.is_empty() && !options.only.iter().any(|only| only == scenario) {
            continue;
        }
        report.begin(scenario);
        match scenario {
            "accept" => http::accept(options, server, &mut report).await,
            "deliver" => http::deliver(options, server, &mut report).await,
            "single" => http::single(options, server, &mut report).await,
            "latency" => http::latency(options, server, &mut report).await,
            "live" => http::live(options, server, &mut report).await,
            "reads" => http::reads(options, server, &mut report).await,
            "idle" => http::idle(options, server, &mut report).await,
            "enqueue" => enqueue::run(options, server, &mut report).await,
            "drain" => drain::run(options, server, &mut report).await,
            "payloads" => drain::payloads(options, server, &mut report).await,
            "sustained" => drain::sustained(options, server, &mut report).await,
            "pickup" => pickup::run(options, server, &mut report).await,
            "rates" => rates::run(options, server, &mut report).await,
            "claims" => claims::run(options, server, &mut report).await,
            "memory" => memory::run(options, server, &mut report).await,
            _ => pages::run(options, server, &mut report).await,
        }
        .with_context(|| format!("scenario {scenario}"))?;
    }
    report.write(&options.json)?;
    if options.report_only || options.quick { Ok(()) } else { report.judge() }
}

const SCENARIOS: [&str; 16] = [
    "accept",
    "deliver",
    "single",
    "latency",
    "live",
    "reads",
    "idle",
    "enqueue",
    "drain",
    "payloads",
    "sustained",
    "pickup",
    "rates",
    "claims",
    "memory",
    "pages",
];
