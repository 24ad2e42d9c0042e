//! How soon somebody who looks sees a change, and what it costs the others.

use super::{
    receiver::Receiver,
    world::{Spent, Stage, drained, event, events},
};
use crate::{
    Options,
    program::{EventStream, Program},
    report::{Report, Target, median, percentile},
};
use anyhow::{Context, Result};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::{sync::mpsc, task::JoinSet};

/// Of one thing at once.
const VIEWERS: usize = 500;
/// Viewers of one address: the program bounds the connections of each.
const OF_ONE_ADDRESS: usize = 50;
/// What a stream has not told by then is lost.
const TOLD_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    deployment(options, server, report).await?;
    open_thing(options, server, report).await?;
    drain(options, server, report).await
}

/// From a change being sent to the numbers of the whole deployment telling it.
async fn deployment(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let stage = Stage::set(server, 100, 0, "").await?;
    let integration = stage.webhook("Paused", "http://127.0.0.1:9/").await?;
    stage.operator.post(&format!("/integrations/{integration}/pause"), String::new()).await?;
    let mut stream = EventStream::open(&stage.program, "/live?changes=true", 1).await?;
    let mut waits = Vec::new();
    for n in 0..options.seconds * 10 {
        // At every moment of the sampler's second, not just after it told the change before.
        tokio::time::sleep(Duration::from_millis(n * 377 % 1_000)).await;
        let begun = Instant::now();
        stage.operator.post("/events", event(&stage.app, n)).await?;
        let expected = i64::try_from(n)? + 1;
        while stream.told().await?["totals"]["backlog"].as_i64() < Some(expected) {}
        waits.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    let what = "from a change being sent to GET /live telling its numbers";
    report.row(&format!("{what}, p50"), percentile(&waits, 50), "ms", Target::AtMost(500.0));
    report.row(&format!("{what}, p99"), percentile(&waits, 99), "ms", Target::AtMost(1_500.0));
    Ok(())
}

/// The same of what each of many viewers has open: a job, and an integration.
async fn open_thing(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let stage = Stage::set(server, 100, 0, "").await?;
    let integration = stage.webhook("Open", "http://127.0.0.1:9/").await?;
    let job = a_job(&stage).await?;
    for (kind, id, actions) in
        [("job", job, ["cancel", "requeue"]), ("integration", integration, ["pause", "resume"])]
    {
        let mut viewers = Viewers::open(&stage.program, &format!("{kind}:{id}")).await?;
        viewers.all_told().await?;
        let mut waits = Vec::new();
        for n in 0..options.seconds * 4 {
            let begun = Instant::now();
            let action = actions[usize::from(n % 2 == 1)];
            stage.operator.post(&format!("/{kind}s/{id}/{action}"), String::new()).await?;
            waits.extend(viewers.all_told().await?.iter().map(|at| (*at - begun).as_secs_f64() * 1e3));
        }
        let what = format!("from a change of {kind} being sent to each of {VIEWERS} who have it open");
        report.note(&format!("{what}, p50"), percentile(&waits, 50), "ms");
        report.row(&format!("{what}, p95"), percentile(&waits, 95), "ms", Target::AtMost(100.0));
    }
    Ok(())
}

/// What it costs deliveries that so many have something open, in turns with deliveries that nobody looks at.
async fn drain(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let deliveries: u64 = if options.quick { 2_000 } else { 20_000 };
    let receiver = Receiver::start().await?;
    let mut ratios = Vec::new();
    for _ in 0..options.turns {
        let mut of_turn = [0.0; 2];
        for (us, is_watched) in of_turn.iter_mut().zip([false, true]) {
            let stage = Stage::set(server, 100, 0, "").await?;
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
    let what = format!("processor of a delivery while {VIEWERS} have its integration open");
    report.row(&what, median(ratios), "x alone", Target::AtMost(1.02));
    Ok(())
}

/// One that nobody runs; answers its id.
async fn a_job(stage: &Stage) -> Result<String> {
    let new = json!({"app_id": stage.app, "job_type": "bench", "payload": {}});
    let made = stage.operator.post("/jobs", new.to_string()).await?;
    Ok(made["items"][0]["id"].as_str().context("a job has an id")?.to_owned())
}

/// Streams of one thing.
struct Viewers {
    told: mpsc::UnboundedReceiver<Result<Instant>>,
    _streams: JoinSet<()>,
}

impl Viewers {
    async fn open(program: &Program, thing: &str) -> Result<Self> {
        let (tell, told) = mpsc::unbounded_channel();
        let mut streams = JoinSet::new();
        for n in 0..VIEWERS {
            let address = u8::try_from(2 + n / OF_ONE_ADDRESS)?;
            let mut stream = EventStream::open(program, &format!("/live?open={thing}"), address).await?;
            let tell = tell.clone();
            streams.spawn(
                async move { while tell.send(stream.next().await.map(|_| Instant::now())).is_ok() {} },
            );
        }
        Ok(Self { told, _streams: streams })
    }

    /// When each of them was told of the next change: the streams tell nothing else.
    async fn all_told(&mut self) -> Result<Vec<Instant>> {
        let mut at = Vec::with_capacity(VIEWERS);
        while at.len() < VIEWERS {
            let told = tokio::time::timeout(TOLD_TIMEOUT, self.told.recv()).await;
            at.push(told.context("a viewer was told nothing")?.context("the streams ended")??);
        }
        Ok(at)
    }
}
