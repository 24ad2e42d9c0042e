//! How long a job waits on an idle system: from its commit to the first line of its handler.

use crate::{
    Options,
    report::{Report, Target},
    worker::config,
    world::{connect, fresh, job, make_lanes},
};
use anyhow::{Context, Result};
use async_trait::async_trait;
use model::id::JobId;
use queue::{
    Waker,
    store::jobs::{How, JobSpec, enqueue},
    worker::{AttemptHandler, Engine, Handlers, HeldJob, Outcome},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Tells when it was called.
struct Clock(mpsc::UnboundedSender<(JobId, Instant)>);

#[async_trait]
impl AttemptHandler for Clock {
    async fn run(&self, job: &HeldJob) -> Outcome {
        // The bench may have ended.
        let _ = self.0.send((job.id, Instant::now()));
        Outcome::Completed { how: How::Done, response: None, result: None, receipt: None }
    }
}

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let url = fresh(server).await?;
    let pool = connect(&url, 12).await?;
    make_lanes(&pool, 40, 50).await?;
    let (began, mut begun) = mpsc::unbounded_channel();
    let stop = CancellationToken::new();
    let handlers = Handlers::new(Arc::new(Clock(began)));
    let engine = Engine::start(pool.clone(), config(100), handlers, stop.clone());
    let waker = Waker::new(pool.clone());
    // As in `headgate`, whose API and workers are one process.
    waker.wake_directly(&engine);
    let mut waits = Vec::new();
    let (warm_up, rounds) = if options.quick { (10, 100) } else { (50, 1_000) };
    for round in 0..warm_up + rounds {
        let spec = JobSpec { payload: None, ..job(round) };
        let mut transaction = pool.begin().await?;
        enqueue(&mut transaction, &[spec]).await?;
        transaction.commit().await?;
        let committed_at = Instant::now();
        waker.jobs_added();
        let (_, begun_at) = begun.recv().await.context("the engine ended")?;
        if round >= warm_up {
            waits.push(begun_at.saturating_duration_since(committed_at));
        }
        // Idle again: its end is recorded, and the wake-ups' gap is over.
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    stop.cancel();
    engine.shutdown().await;
    waits.sort_unstable();
    let at = |share: f64| waits[((waits.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    report.row("pick-up on an idle system, p50", at(0.50), "ms", Target::AtMost(2.0));
    report.row("pick-up on an idle system, p99", at(0.99), "ms", Target::AtMost(10.0));
    Ok(())
}
