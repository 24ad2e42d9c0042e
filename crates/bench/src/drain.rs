//! Real worker processes drain no-op jobs.

use crate::cpu::used_by_tree;
use crate::report::{Report, Target, Turns, median};
use crate::world::{Fill, connect, fill, fresh, left, make_lanes, number};
use crate::{Options, floor};
use anyhow::{Context, Result};
use sqlx::PgPool;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The result of a drain.
struct Drained {
    per_second: f64,
    /// Processor time of the database for each job.
    database_us: f64,
    /// Processor time of the program for each job.
    program_us: f64,
    /// Jobs of each second.
    by_second: Vec<f64>,
}

/// Processor time used so far.
#[derive(Clone, Copy)]
struct Spent {
    database: Duration,
    program: Duration,
}

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let jobs = options.seconds * 60_000 / if options.quick { 10 } else { 1 };
    let (mut turns, mut database, mut program) = (Turns::default(), Vec::new(), Vec::new());
    for _ in 0..options.turns {
        let bare = floor::drain(options, server).await?;
        let drained = drain(server, 1, options.seconds, jobs, 200).await?;
        turns.add(bare, drained.per_second);
        database.push(drained.database_us);
        program.push(drained.program_us);
    }
    let (database, program) = (median(database), median(program));
    report.note(
        "floor: claim and finish, plain table, batches of 500 (pgbench, 4 clients)",
        turns.floor(),
        "jobs/s",
    );
    report.note("drain of no-op jobs, 1 process, durable commits", turns.ours(), "jobs/s");
    report.row("drain in one process", turns.ratio(), "x floor", Target::AtLeast(0.8));
    report.note("processor time a job, database", database, "us");
    report.note("processor time a job, program", program, "us");
    report.row("processor time a job, database and program", database + program, "us", Target::AtMost(45.0));
    for processes in options.processes.iter().copied() {
        let drained = drain(server, processes, options.seconds, jobs, 200).await?;
        let what = format!("drain of no-op jobs, {processes} processes, durable commits");
        report.note(&what, drained.per_second, "jobs/s");
        report.note(
            &format!("drain in {processes} processes"),
            drained.per_second / turns.floor(),
            "x floor",
        );
    }
    Ok(())
}

pub(crate) async fn payloads(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    for (bytes, rate) in [(1_000, 40_000), (20_000, 6_000)] {
        let jobs = options.seconds * rate / if options.quick { 10 } else { 1 };
        let drained = drain(server, 1, options.seconds, jobs, bytes).await?;
        report.note(
            &format!("drain with payloads of {bytes} bytes, 1 process"),
            drained.per_second,
            "jobs/s",
        );
    }
    Ok(())
}

pub(crate) async fn sustained(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let seconds = if options.quick { 20 } else { 60 };
    let drained =
        drain(server, 1, seconds, seconds * 55_000 / if options.quick { 2 } else { 1 }, 200).await?;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    let span = (drained.by_second.len() / 3).min(10);
    let first = mean(&drained.by_second[..span]);
    let last = mean(&drained.by_second[drained.by_second.len() - span..]);
    report.note(&format!("drain sustained for {} s", drained.by_second.len()), drained.per_second, "jobs/s");
    report.row("the last ten seconds against the first ten", last / first, "x", Target::AtLeast(0.9));
    Ok(())
}

async fn drain(
    server: &str,
    processes: usize,
    seconds: u64,
    jobs: u64,
    payload_bytes: usize,
) -> Result<Drained> {
    let url = fresh(server).await?;
    let pool = connect(&url, 4).await?;
    make_lanes(&pool, 40, 10_000).await?;
    fill(&pool, Fill { jobs, lanes: 40, hot_percent: 0, payload_bytes }).await?;
    let postmaster = postmaster(&pool).await?;
    let before = left(&pool).await?;
    let mut workers: Vec<Child> = (0..processes).map(|_| start(4000)).collect::<Result<_>>()?;
    // Waits until they run: the start is not measured.
    while number(&pool, "select coalesce(sum(completed), 0)::bigint from (
        select completed from headgate.throughput where step_seconds = 10
        and integration_id <> '00000000-0000-0000-0000-000000000000' union all select completed from headgate.throughput_deltas) t").await? == 0
    {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let ours = || -> Result<Spent> {
        let program = workers
            .iter()
            .try_fold(Duration::ZERO, |sum, worker| anyhow::Ok(sum + used_by_tree(worker.id())?))?;
        Ok(Spent { database: used_by_tree(postmaster)?, program })
    };
    let done = "select coalesce(sum(completed), 0)::bigint from (
        select completed from headgate.throughput where step_seconds = 10
        and integration_id <> '00000000-0000-0000-0000-000000000000' union all select completed from headgate.throughput_deltas) t";
    let (began_at, began_with, began_cpu) = (Instant::now(), number(&pool, done).await? as f64, ours()?);
    let (mut by_second, mut last, mut last_at) = (Vec::new(), began_with, began_at);
    let mut peak = (began_at, began_with, began_cpu);
    for second in 1..=seconds {
        tokio::time::sleep_until((began_at + Duration::from_secs(second)).into()).await;
        let (now, at) = (number(&pool, done).await? as f64, Instant::now());
        by_second.push((now - last) / (at - last_at).as_secs_f64());
        (last, last_at) = (now, at);
        peak = (at, now, ours()?);
        if now >= before as f64 {
            // Drained: the last second is incomplete.
            by_second.pop();
            break;
        }
    }
    let (took, finished) = ((peak.0 - began_at).as_secs_f64(), peak.1 - began_with);
    let a_job = |now: Duration, before: Duration| (now - before).as_secs_f64() * 1e6 / finished;
    for worker in &mut workers {
        drop(worker.stdin.take());
    }
    for mut worker in workers {
        worker.wait()?;
    }
    let whole = by_second.iter().sum::<f64>() / by_second.len().max(1) as f64;
    Ok(Drained {
        per_second: if by_second.is_empty() { finished / took } else { whole },
        database_us: a_job(peak.2.database, began_cpu.database),
        program_us: a_job(peak.2.program, began_cpu.program),
        by_second,
    })
}

/// Starts this program as a worker process.
pub(crate) fn start(slots: usize) -> Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(["--worker", "--slots"])
        .arg(slots.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("a worker process")
}

/// The first process of the database server, parent of all others.
pub(crate) async fn postmaster(pool: &PgPool) -> Result<u32> {
    let backend = number(pool, "select pg_backend_pid()::bigint").await?;
    let stat = std::fs::read_to_string(format!("/proc/{backend}/stat"))
        .context("the database runs on another machine")?;
    let parent =
        stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)).context("no parent")?;
    Ok(parent.parse()?)
}
