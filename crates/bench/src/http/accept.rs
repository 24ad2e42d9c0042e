//! `POST /events`, a thousand an array: to one integration, to five and to forty.

use super::world::{Spent, app, events, statements};
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

const PRODUCERS: usize = 4;

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    for (integrations, target) in [(1, 30_000.0), (5, 12_000.0), (40, 2_000.0)] {
        let url = fresh(server).await?;
        let pool = connect(&url, 2).await?;
        // Nothing without it is measured differently.
        let _ = execute(&pool, "create extension if not exists pg_stat_statements").await;
        let program = Arc::new(Program::start(&url, 0).await?);
        let client = Program::operator()?;
        let app = app(&program, &client, integrations, "http://127.0.0.1:9/").await?;
        let (next, accepted) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let produce = async |seconds: u64| -> Result<f64> {
            let begun = Instant::now();
            let before = accepted.load(Ordering::Relaxed);
            let mut producers = tokio::task::JoinSet::new();
            for _ in 0..PRODUCERS {
                let (program, client, app) = (Arc::clone(&program), client.clone(), app.clone());
                let (next, accepted) = (Arc::clone(&next), Arc::clone(&accepted));
                producers.spawn(async move {
                    while begun.elapsed() < Duration::from_secs(seconds) {
                        let first = next.fetch_add(1000, Ordering::Relaxed);
                        program.post(&client, "/events", events(&app, first, 1000)).await?;
                        accepted.fetch_add(1000, Ordering::Relaxed);
                    }
                    anyhow::Ok(())
                });
            }
            while let Some(producer) = producers.join_next().await {
                producer??;
            }
            let made = accepted.load(Ordering::Relaxed) - before;
            Ok(made as f64 / begun.elapsed().as_secs_f64())
        };
        produce(1).await?;
        let before = accepted.load(Ordering::Relaxed);
        let spent = Spent::begin(&pool, &program).await?;
        let rate = produce(options.seconds).await?;
        let pieces = accepted.load(Ordering::Relaxed) - before;
        let (database, own) = spent.per(pieces)?;
        let what = format!("POST /events, arrays of 1,000, to {integrations} integrations");
        report.row(&what, rate, "events/s", Target::AtLeast(target));
        report.note(&format!("{what}, processor of the database"), database, "us");
        report.note(&format!("{what}, processor of headgate"), own, "us");
        statements(&pool, pieces).await;
    }
    Ok(())
}
