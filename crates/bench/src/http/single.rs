//! One event a request, as most systems send them, until each is recorded as delivered.

use super::{
    receiver::Receiver,
    world::{Spent, app, drained, event, statements},
};
use crate::{
    Options,
    program::Program,
    report::{Report, Target},
    world::{connect, execute, fresh},
};
use anyhow::Result;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let receiver = Receiver::start().await?;
    for (clients, target) in [(1, Target::None), (8, Target::AtLeast(2_000.0))] {
        let url = fresh(server).await?;
        let pool = connect(&url, 2).await?;
        let _ = execute(&pool, "create extension if not exists pg_stat_statements").await;
        let program = Arc::new(Program::start(&url, 100).await?);
        let client = Program::operator()?;
        let app = app(&program, &client, 1, &receiver.url).await?;
        let next = Arc::new(AtomicU64::new(0));
        let produce = async |seconds: u64| -> Result<f64> {
            let (begun, before) = (Instant::now(), next.load(Ordering::Relaxed));
            let mut producers = tokio::task::JoinSet::new();
            for _ in 0..clients {
                let (program, client, app) = (Arc::clone(&program), client.clone(), app.clone());
                let next = Arc::clone(&next);
                producers.spawn(async move {
                    while begun.elapsed() < Duration::from_secs(seconds) {
                        let n = next.fetch_add(1, Ordering::Relaxed);
                        program.post(&client, "/events", event(&app, n)).await?;
                    }
                    anyhow::Ok(())
                });
            }
            while let Some(producer) = producers.join_next().await {
                producer??;
            }
            let made = next.load(Ordering::Relaxed) - before;
            Ok(made as f64 / begun.elapsed().as_secs_f64())
        };
        produce(1).await?;
        drained(&pool, Duration::from_secs(60)).await?;
        let before = next.load(Ordering::Relaxed);
        let spent = Spent::begin(&pool, &program).await?;
        let rate = produce(options.seconds).await?;
        drained(&pool, Duration::from_secs(60)).await?;
        let pieces = next.load(Ordering::Relaxed) - before;
        let (database, own) = spent.per(pieces)?;
        let what = format!("one event a request, {clients} clients");
        report.row(&what, rate, "events/s", target);
        let until = format!("{what}, until it is recorded as delivered");
        report.note(&format!("{until}, processor of the database"), database, "us");
        report.note(&format!("{until}, processor of headgate"), own, "us");
        let most = if clients == 8 { Target::AtMost(1_200.0) } else { Target::None };
        report.row(&format!("{until}, processor"), database + own, "us", most);
        statements(&pool, pieces).await;
    }
    Ok(())
}
