//! The time from sending `POST /events` until the external system has the request.

use super::receiver;
use super::world::{Stage, event};
use crate::Options;
use crate::report::{Report, Target, percentile};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    for (rate, p50, p99) in [(50_u64, 6.0, 20.0), (500, 12.0, 60.0)] {
        let (reports, mut reported) = mpsc::unbounded_channel();
        let endpoint = receiver::reporting(reports).await?;
        let stage = Stage::create(server, 100, 1, &endpoint).await?;
        let (warm_up, count) = (rate, rate * options.seconds);
        let mut sent = HashMap::new();
        let mut posts = tokio::task::JoinSet::new();
        let begun = tokio::time::Instant::now();
        for n in 0..warm_up + count {
            tokio::time::sleep_until(begun + Duration::from_micros(n * 1_000_000 / rate)).await;
            let (operator, body) = (stage.operator.clone(), event(&stage.app, n));
            sent.insert(format!("p-{n}"), (n, Instant::now()));
            posts.spawn(async move { operator.post("/events", body).await });
        }
        while let Some(posted) = posts.join_next().await {
            posted??;
        }
        let mut waits = Vec::new();
        while !sent.is_empty() {
            let request = tokio::time::timeout(Duration::from_secs(30), reported.recv()).await;
            let (body, at) =
                request.context("requests are missing after 30 s")?.context("the receiver ended")?;
            let body: Value = serde_json::from_slice(&body)?;
            // Delivery is at least once: a second request is ignored.
            let Some((n, sent_at)) = body["record"]["id"].as_str().and_then(|id| sent.remove(id)) else {
                continue;
            };
            if n >= warm_up {
                waits.push(at.saturating_duration_since(sent_at).as_secs_f64() * 1e3);
            }
        }
        let what = format!("from POST /events to the external system, {rate} events/s");
        report.row(&format!("{what}, p50"), percentile(&waits, 50), "ms", Target::AtMost(p50));
        report.row(&format!("{what}, p99"), percentile(&waits, 99), "ms", Target::AtMost(p99));
    }
    Ok(())
}
