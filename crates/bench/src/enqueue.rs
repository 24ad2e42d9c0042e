//! Accepting jobs: one at a time, as a web request does, and by the thousand.

use crate::{
    Options, floor,
    report::{Report, Target, Turns},
    world::{connect, fresh, job, make_lanes},
};
use anyhow::Result;
use queue::store::jobs::{JobSpec, enqueue};
use sqlx::PgPool;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// As many as pgbench has clients for the floor.
const PRODUCERS: u64 = 4;

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let url = fresh(server).await?;
    let pool = connect(&url, 8).await?;
    make_lanes(&pool, 40, 50).await?;
    let seconds = Duration::from_secs(options.seconds);
    let single = produce(&pool, seconds, 1, false).await?;
    report.note("enqueue one job a transaction, 4 producers, durable commits", single, "jobs/s");
    let mut turns = Turns::default();
    for _ in 0..options.turns {
        let bare = floor::insert(options, server).await?;
        turns.add(bare, produce(&pool, seconds, 1000, false).await?);
    }
    report.note(
        "floor: insert by unnest, 1000 a statement (4 clients that send the rows)",
        turns.floor(),
        "jobs/s",
    );
    report.note("enqueue 1000 jobs a transaction, 4 producers", turns.ours(), "jobs/s");
    report.row("enqueue in bulk", turns.ratio(), "x floor", Target::AtLeast(0.75));
    let folding = produce(&pool, seconds, 1000, true).await?;
    report.note("the same, each with a deduplication id", folding, "jobs/s");
    Ok(())
}

async fn produce(pool: &PgPool, time: Duration, batch: usize, has_ids: bool) -> Result<f64> {
    let made = Arc::new(AtomicU64::new(0));
    let began_at = Instant::now();
    let mut producers = tokio::task::JoinSet::new();
    for producer in 0..PRODUCERS {
        let (pool, made) = (pool.clone(), Arc::clone(&made));
        producers.spawn(async move {
            let mut round = 0;
            while began_at.elapsed() < time {
                let specs: Vec<JobSpec> =
                    (0..batch).map(|n| spec((round * batch + n) as u64, producer, has_ids)).collect();
                let mut transaction = pool.begin().await?;
                enqueue(&mut transaction, &specs).await?;
                transaction.commit().await?;
                made.fetch_add(batch as u64, Ordering::Relaxed);
                round += 1;
            }
            anyhow::Ok(())
        });
    }
    while let Some(producer) = producers.join_next().await {
        producer??;
    }
    Ok(made.load(Ordering::Relaxed) as f64 / began_at.elapsed().as_secs_f64())
}

fn spec(n: u64, producer: u64, has_id: bool) -> JobSpec {
    JobSpec { deduplication_id: has_id.then(|| format!("product:{producer}:{n}")), ..job(n) }
}
