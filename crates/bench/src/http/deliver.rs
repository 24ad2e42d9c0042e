//! One process delivers 20,000 records, each by a signed request.

use super::receiver::Receiver;
use super::world::{Spent, Stage, drained, event, events};
use crate::program::Program;
use crate::report::{Report, Target};
use crate::{Options, cpu};
use anyhow::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The concurrency limit of one integration.
const MAX_CONCURRENCY: usize = 50;

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let deliveries: u64 = if options.quick { 2_000 } else { 20_000 };
    let receiver = Receiver::start().await?;
    bare(deliveries, &receiver, report).await?;
    for integrations in [1, 5] {
        let stage = Stage::create(server, 0, integrations, &receiver.url).await?;
        let records = deliveries / integrations as u64;
        for first in (0..records).step_by(1000) {
            stage.operator.post("/events", events(&stage.app, first, 1000.min(records - first))).await?;
        }
        stage.program.stop().await?;
        let begun = Instant::now();
        let program = Program::start(&stage.url, 100).await?;
        let spent = Spent::begin(&stage.pool, &program).await?;
        // Both numbers include what it delivered before it was ready.
        drained(&stage.pool, Duration::from_secs(300)).await?;
        let rate = deliveries as f64 / begun.elapsed().as_secs_f64();
        let what = format!("deliver {deliveries} records to {integrations} integrations, 1 process");
        report.row(&what, rate, "requests/s", Target::AtLeast(4_000.0));
        let us = spent.report(report, &what, &stage.pool, deliveries).await?;
        report.row(&format!("{what}, processor"), us, "us", Target::AtMost(250.0));
    }
    Ok(())
}

/// The floor: the same requests from a bare loop, without database, signature or record.
async fn bare(deliveries: u64, receiver: &Receiver, report: &mut Report) -> Result<()> {
    let client = reqwest::Client::new();
    let next = Arc::new(AtomicU64::new(0));
    let before = cpu::used_by_tree(std::process::id())?;
    let begun = Instant::now();
    let mut senders = tokio::task::JoinSet::new();
    for _ in 0..MAX_CONCURRENCY {
        let (client, next, url) = (client.clone(), Arc::clone(&next), receiver.url.clone());
        senders.spawn(async move {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= deliveries {
                    return anyhow::Ok(());
                }
                let sent =
                    client.post(&url).header("content-type", "application/json").body(event("bench", n));
                sent.send().await?.bytes().await?;
            }
        });
    }
    while let Some(sender) = senders.join_next().await {
        sender??;
    }
    let took = begun.elapsed().as_secs_f64();
    report.note("floor: the same requests by a bare loop", deliveries as f64 / took, "requests/s");
    // The receiver is a child process, so its time is included.
    let spent = (cpu::used_by_tree(std::process::id())? - before).as_secs_f64() * 1e6 / deliveries as f64;
    report.note("floor: processor of a request and of its receiver", spent, "us");
    Ok(())
}
