//! `headgate demo`: `serve`, with sample data and external systems of its own.

use super::serve::{Sample, serve};
use crate::config::{ServeSettings, Sources, TelemetrySettings};
use crate::program::block_on;
use crate::telemetry;
use anyhow::Context as _;
use std::process::ExitCode;

/// Where the built-in external systems listen.
const LOOPBACK: &str = "127.0.0.0/8";

/// Retries within seconds instead of minutes, so that the retry pyramid changes while somebody watches.
const FAST_RETRIES: [(&str, &str); 2] =
    [("HEADGATE_RETRY_SCHEDULE", "1s,3s,8s,20s,40s"), ("HEADGATE_MAX_ATTEMPTS", "6")];

pub fn run(sources: Sources) -> anyhow::Result<ExitCode> {
    let sources = sources.with_defaults(&FAST_RETRIES);
    telemetry::start(&TelemetrySettings::read(&sources)?);
    let mut settings = ServeSettings::read(&sources)?;
    settings.engine.delivery.allowed_targets.push(LOOPBACK.parse().context(LOOPBACK)?);
    block_on(serve(settings, Sample::Demo))
}
