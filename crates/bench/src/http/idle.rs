//! What an idle `headgate serve` without viewers costs: start, processor, memory.

use super::world::Spent;
use crate::program::Program;
use crate::report::{Report, Target};
use crate::world::{connect, fresh};
use crate::{Options, cpu};
use anyhow::Result;
use std::time::Duration;

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let url = fresh(server).await?;
    let pool = connect(&url, 1).await?;
    // The first start creates partitions and the first operator.
    Program::start(&url, 100).await?.stop().await?;
    let program = Program::start(&url, 100).await?;
    let what = "start on a migrated database, until it is ready";
    report.row(what, program.started_in.as_secs_f64(), "s", Target::AtMost(1.0));
    // Lets it finish the work of its start.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let watched = Duration::from_secs(options.seconds.max(5) * 2);
    let spent = Spent::begin(&pool, &program).await?;
    tokio::time::sleep(watched).await;
    // Microseconds a second, converted to a share of a core.
    let (database, own) = spent.per(watched.as_secs())?;
    report.note("idle, processor of the database", database / 1e4, "% of a core");
    report.note("idle, processor of headgate", own / 1e4, "% of a core");
    report.row("idle, processor", (database + own) / 1e4, "% of a core", Target::AtMost(1.0));
    let resident = cpu::resident(program.id()?)? as f64 / 1e6;
    report.row("idle, memory of headgate", resident, "MB", Target::AtMost(50.0));
    super::world::statements(&pool, watched.as_secs()).await;
    Ok(())
}
