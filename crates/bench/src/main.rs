//! `make bench`: what the engine costs on this machine, beside the floor that the bare statements set in the same run, and how long the
//! console's pages take over millions of jobs.
//!
//! Absolute numbers say something about the machine; the ratios say something about us. Every scenario makes what it needs in a
//! database of its own (`headgate_bench`), prints a row, and the whole is written as JSON. Not part of `make test`: it wants the
//! machine for itself.

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

/// What the engine costs, beside the floor.
#[derive(Parser)]
#[command(name = "bench")]
pub(crate) struct Options {
    /// Scenarios to run, comma-separated: accept, deliver, single, latency, live, reads, idle, enqueue, drain, payloads, sustained, pickup, rates, claims, memory, pages. Default: all.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Ten times less of everything: for a look whether it works.
    #[arg(long)]
    quick: bool,
    /// Missed targets are told and are no failure: for a machine that others share.
    #[arg(long)]
    report_only: bool,
    /// How often a rate and its floor are measured in turns.
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// Seconds each rate is measured.
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// Worker processes of the drain beside the one, comma-separated.
    #[arg(long, value_delimiter = ',', default_value = "2,4")]
    processes: Vec<usize>,
    /// That many times less than ten million live jobs, ten million finished ones and a million dead letters under the pages.
    #[arg(long, default_value_t = 1)]
    divide: u64,
    /// The pages of the deployment that an earlier run left on this server, instead of filling it anew.
    #[arg(long)]
    filled: bool,
    /// Where the JSON goes.
    #[arg(long, default_value = "target/bench.json")]
    json: PathBuf,
    /// A worker process of the drain: started by the bench itself.
    #[arg(long, hide = true)]
    worker: bool,
    /// The external system of the deliveries, a process whose time counts for nobody: started by the bench itself.
    #[arg(long, hide = true)]
    receiver: Option<u16>,
    /// Jobs that worker runs at once.
    #[arg(long, hide = true, default_value_t = 1000)]
    slots: usize,
}

/// As the server's: thousands of small tasks a second are a fifth cheaper than with the C library's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_from_env("HEADGATE_LOG")
        .unwrap_or_else(|_| "warn,sqlx=error".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let options = Options::parse();
    let server = std::env::var("DATABASE_URL")
        .context("DATABASE_URL names a Postgres superuser's database: `make bench` starts a private one")?;
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
            bail!("no scenario is named {scenario}: there are {}", SCENARIOS.join(", "));
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
