//! How long a job waits on an idle system: from the call that enqueues it to the first line of its handler, as a user of the library sees it, compared
//! with a plain loop that listens.

use crate::Options;
use crate::plain::Plain;
use crate::report::{Report, Target, percentile};
use crate::world::{connect, fresh};
use anyhow::{Context, Result};
use queue::{Client, Job, JobError, JobHandler, LeasedJob, Runner};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};

#[derive(Serialize, Deserialize)]
pub(crate) struct Numbered {
    pub(crate) n: u64,
    pub(crate) note: String,
}

impl Job for Numbered {
    const JOB_TYPE: &'static str = "bench.numbered";
}

/// Reports when it was called.
struct Clock(mpsc::UnboundedSender<(u64, Instant)>);

impl JobHandler<Numbered> for Clock {
    type Output = ();

    async fn run(&self, payload: Numbered, _: &LeasedJob) -> Result<(), JobError> {
        // The bench may have ended.
        let _ = self.0.send((payload.n, Instant::now()));
        Ok(())
    }
}

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let url = fresh(server).await?;
    let pool = connect(&url, 12).await?;
    let (started, mut begun) = mpsc::unbounded_channel();
    let running = Runner::new(&pool).handle(Clock(started)).start().await?;
    let client = Client::open(&pool, "bench").await?;
    let plain = Plain::set_up(server).await?;
    let (started, mut plainly_begun) = mpsc::unbounded_channel();
    let plainly_running = plain.work(started).await?;
    for (rate, jobs) in [(1, 30), (50, 1_000), (500, 5_000)] {
        let jobs = if options.quick { jobs / 10 } else { jobs };
        let bare = paced(rate, jobs, |n| plain.enqueue(n), &mut plainly_begun).await?;
        let enqueue = async |n| {
            client.enqueue(&pool, Numbered { n, note: "x".repeat(120) }).await?;
            Ok(())
        };
        let ours = paced(rate, jobs, enqueue, &mut begun).await?;
        for (which, waits) in [("plain loop", &bare), ("library", &ours)] {
            for at in [50, 99] {
                report.note(
                    &format!("pick-up at {rate} jobs/s, {which}, p{at}"),
                    percentile(waits, at),
                    "ms",
                );
            }
        }
        let ratio = |at| percentile(&ours, at) / percentile(&bare, at);
        report.row(&format!("pick-up at {rate} jobs/s, p50"), ratio(50), "x plain", Target::AtMost(1.2));
        // River's value, when both were measured in the same run.
        report.row(&format!("pick-up at {rate} jobs/s, p99"), ratio(99), "x plain", Target::AtMost(1.7));
    }
    plainly_running.abort();
    running.shutdown().await;
    Ok(())
}

/// Milliseconds from each call to the start of its job; the first tenth is left out to warm up.
async fn paced(
    rate: u32,
    jobs: u64,
    enqueue: impl AsyncFn(u64) -> Result<()>,
    begun: &mut mpsc::UnboundedReceiver<(u64, Instant)>,
) -> Result<Vec<f64>> {
    let mut ticks = interval(Duration::from_secs(1) / rate);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut called = Vec::new();
    for n in 0..jobs {
        ticks.tick().await;
        called.push(Instant::now());
        enqueue(n).await?;
    }
    let mut waits = Vec::new();
    for _ in 0..jobs {
        let next = timeout(Duration::from_secs(30), begun.recv()).await.context("a job did not start")?;
        let (n, at) = next.context("the worker ended")?;
        if n >= jobs / 10 {
            waits.push(at.saturating_duration_since(called[usize::try_from(n)?]).as_secs_f64() * 1e3);
        }
    }
    Ok(waits)
}
