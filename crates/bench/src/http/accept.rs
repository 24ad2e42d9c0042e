//! `POST /events` with arrays of a thousand events, to one, five and forty integrations.

use super::world::{Producers, Spent, Stage};
use crate::Options;
use crate::report::{Report, Target};
use anyhow::Result;
use std::time::Duration;

const CLIENTS: usize = 4;

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    for (integrations, target) in [(1, 30_000.0), (5, 12_000.0), (40, 2_000.0)] {
        let stage = Stage::create(server, 0, integrations, "http://127.0.0.1:9/").await?;
        let producers = Producers::new(&stage, CLIENTS, 1_000);
        producers.send_for(Duration::from_secs(1)).await?;
        let spent = Spent::begin(&stage.pool, &stage.program).await?;
        let (made, rate) = producers.send_for(Duration::from_secs(options.seconds)).await?;
        let what = format!("POST /events, arrays of 1,000, to {integrations} integrations");
        report.row(&what, rate, "events/s", Target::AtLeast(target));
        spent.report(report, &what, &stage.pool, made).await?;
    }
    Ok(())
}
