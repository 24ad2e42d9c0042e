//! How much memory a process needs while a million jobs wait.

use crate::report::{Report, Target};
use crate::world::{Fill, connect, execute, fill, fresh, make_lanes};
use crate::{Options, cpu, drain};
use anyhow::Result;
use std::time::Duration;

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let url = fresh(server).await?;
    let pool = connect(&url, 4).await?;
    make_lanes(&pool, 40, 50).await?;
    let jobs = if options.quick { 100_000 } else { 1_000_000 };
    fill(&pool, Fill { jobs, lanes: 40, hot_percent: 90, payload_bytes: 200 }).await?;
    // Due in a day, so they all wait.
    execute(
        &pool,
        "with gone as (delete from headgate.ready returning job_id, integration_id)
         insert into headgate.waiting (due_at, job_id, integration_id)
         select clock_timestamp() + interval '1 day', job_id, integration_id from gone;
         update headgate.jobs set run_at = clock_timestamp() + interval '1 day'",
    )
    .await?;
    let mut worker = drain::start(100)?;
    let mut peak = 0;
    for _ in 0..if options.quick { 5 } else { 20 } {
        tokio::time::sleep(Duration::from_millis(500)).await;
        peak = peak.max(cpu::resident(worker.id())?);
    }
    drop(worker.stdin.take());
    worker.wait()?;
    let what = format!("memory of a process with {jobs} jobs waiting");
    report.row(&what, peak as f64 / 1e6, "MB", Target::AtMost(80.0));
    Ok(())
}
