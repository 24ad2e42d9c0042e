//! One event a request, as most systems send them, until all are recorded as delivered.

use super::receiver::Receiver;
use super::world::{Producers, Spent, Stage, drained};
use crate::Options;
use crate::report::{Report, Target};
use anyhow::Result;
use std::time::Duration;

/// For the deliveries that are left when the last event has been accepted.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let receiver = Receiver::start().await?;
    for (clients, rate_wanted, us_wanted) in
        [(1, Target::None, Target::None), (8, Target::AtLeast(2_000.0), Target::AtMost(1_200.0))]
    {
        let stage = Stage::create(server, 100, 1, &receiver.url).await?;
        let producers = Producers::new(&stage, clients, 1);
        producers.send_for(Duration::from_secs(1)).await?;
        drained(&stage.pool, DRAIN_TIMEOUT).await?;
        let spent = Spent::begin(&stage.pool, &stage.program).await?;
        let (made, rate) = producers.send_for(Duration::from_secs(options.seconds)).await?;
        drained(&stage.pool, DRAIN_TIMEOUT).await?;
        let what = format!("one event a request, {clients} clients");
        report.row(&what, rate, "events/s", rate_wanted);
        let until = format!("{what}, until it is recorded as delivered");
        let us = spent.report(report, &until, &stage.pool, made).await?;
        report.row(&format!("{until}, processor"), us, "us", us_wanted);
    }
    Ok(())
}
