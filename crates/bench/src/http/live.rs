//! How soon viewers see a change, and what that costs deliveries.

use super::receiver::Receiver;
use super::world::{Spent, Stage, drained, event, events};
use crate::Options;
use crate::program::{EventStream, Program};
use crate::report::{Report, Target, median, percentile};
use anyhow::{Context, Result};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::{sync::mpsc, task::JoinSet};

/// Viewers of the same item.
const VIEWERS: usize = 500;
/// Viewers from one IP address, whose connections the program limits.
const PER_ADDRESS: usize = 50;
/// An event that a stream has not sent by then is lost.
const EVENT_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    deployment(options, server, report).await?;
    open_thing(options, server, report).await?;
    drain(options, server, report).await
}

/// From sending a change until the numbers of the whole deployment show it.
async fn deployment(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let stage = Stage::create(server, 100, 0, "").await?;
    let integration = stage.webhook("Paused", "http://127.0.0.1:9/").await?;
    stage.operator.post(&format!("/integrations/{integration}/pause"), String::new()).await?;
    let mut stream = EventStream::open(&stage.program, "/live?changes=true", 1).await?;
    let mut waits = Vec::new();
    for n in 0..options.seconds * 10 {
        // At varying moments of the sampler's second, not always right after it published the last change.
        tokio::time::sleep(Duration::from_millis(n * 377 % 1_000)).await;
        let begun = Instant::now();
        stage.operator.post("/events", event(&stage.app, n)).await?;
        let expected = i64::try_from(n)? + 1;
        while stream.next_data().await?["totals"]["backlog"].as_i64() < Some(expected) {}
        waits.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    let what = "from sending a change until GET /live shows it";
    report.row(&format!("{what}, p50"), percentile(&waits, 50), "ms", Target::AtMost(500.0));
    report.row(&format!("{what}, p99"), percentile(&waits, 99), "ms", Target::AtMost(1_500.0));
    Ok(())
}

/// The same for something that each of many viewers has open: a job, and an integration.
async fn open_thing(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let stage = Stage::create(server, 100, 0, "").await?;
    let integration = stage.webhook("Open", "http://127.0.0.1:9/").await?;
    let job = a_job(&stage).await?;
    for (kind, id, actions) in
        [("job", job, ["cancel", "requeue"]), ("integration", integration, ["pause", "resume"])]
    {
        let mut viewers = Viewers::open(&stage.program, &format!("{kind}:{id}")).await?;
        viewers.all_notified().await?;
        let mut waits = Vec::new();
        for n in 0..options.seconds * 4 {
            let begun = Instant::now();
            let action = actions[usize::from(n % 2 == 1)];
            stage.operator.post(&format!("/{kind}s/{id}/{action}"), String::new()).await?;
            waits.extend(viewers.all_notified().await?.iter().map(|at| (*at - begun).as_secs_f64() * 1e3));
        }
        let what = format!("from sending a change of {kind} until each of {VIEWERS} viewers has it");
        report.note(&format!("{what}, p50"), percentile(&waits, 50), "ms");
        report.row(&format!("{what}, p95"), percentile(&waits, 95), "ms", Target::AtMost(100.0));
    }
    Ok(())
}

/// What so many viewers cost deliveries, measured in turns with deliveries without viewers.
async fn drain(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let deliveries: u64 = if options.quick { 2_000 } else { 20_000 };
    let receiver = Receiver::start().await?;
    let mut ratios = Vec::new();
    for _ in 0..options.turns {
        let mut of_turn = [0.0; 2];
        for (us, is_watched) in of_turn.iter_mut().zip([false, true]) {
            let stage = Stage::create(server, 100, 0, "").await?;
            let integration = stage.webhook("Shop", &receiver.url).await?;
            let thing = format!("integration:{integration}");
            let _viewers = if is_watched { Some(Viewers::open(&stage.program, &thing).await?) } else { None };
            let spent = Spent::begin(&stage.pool, &stage.program).await?;
            for first in (0..deliveries).step_by(1000) {
                stage.operator.post("/events", events(&stage.app, first, 1000)).await?;
            }
            drained(&stage.pool, Duration::from_secs(300)).await?;
            let (database, own) = spent.per(deliveries)?;
            *us = database + own;
        }
        let [alone, watched] = of_turn;
        ratios.push(watched / alone);
    }
    let what = format!("processor of a delivery while {VIEWERS} viewers have its integration open");
    report.row(&what, median(ratios), "x alone", Target::AtMost(1.02));
    Ok(())
}

/// Enqueues a job that no worker runs; returns its id.
async fn a_job(stage: &Stage) -> Result<String> {
    let new = json!({"app_id": stage.app, "job_type": "bench", "payload": {}});
    let made = stage.operator.post("/jobs", new.to_string()).await?;
    Ok(made["items"][0]["id"].as_str().context("a job has an id")?.to_owned())
}

/// Event streams of one item.
struct Viewers {
    events_at: mpsc::UnboundedReceiver<Result<Instant>>,
    _streams: JoinSet<()>,
}

impl Viewers {
    async fn open(program: &Program, thing: &str) -> Result<Self> {
        let (sender, events_at) = mpsc::unbounded_channel();
        let mut streams = JoinSet::new();
        for n in 0..VIEWERS {
            let address = u8::try_from(2 + n / PER_ADDRESS)?;
            let mut stream = EventStream::open(program, &format!("/live?open={thing}"), address).await?;
            let sender = sender.clone();
            streams.spawn(async move {
                while sender.send(stream.next().await.map(|_| Instant::now())).is_ok() {}
            });
        }
        Ok(Self { events_at, _streams: streams })
    }

    /// When each of them got the next change; the streams send nothing else.
    async fn all_notified(&mut self) -> Result<Vec<Instant>> {
        let mut at = Vec::with_capacity(VIEWERS);
        while at.len() < VIEWERS {
            let events_at = tokio::time::timeout(EVENT_TIMEOUT, self.events_at.recv()).await;
            at.push(events_at.context("a viewer got no event")?.context("the streams ended")??);
        }
        Ok(at)
    }
}
