//! Enqueues jobs: one at a time, as a web request does, and by the thousand.

use crate::pickup::Numbered;
use crate::plain::Plain;
use crate::report::{Report, Target, Turns};
use crate::world::{connect, fresh, job, make_lanes};
use crate::{Options, floor};
use anyhow::Result;
use queue::Client;
use queue::store::jobs::{JobSpec, enqueue};
use sqlx::PgPool;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// As many as the clients of the floor.
const PRODUCERS: u64 = 4;

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let url = fresh(server).await?;
    let pool = connect(&url, 8).await?;
    make_lanes(&pool, 40, 50).await?;
    let seconds = Duration::from_secs(options.seconds);
    let single = produce(&pool, seconds, 1, false).await?;
    report.note("enqueue one job a transaction, 4 producers, durable commits", single, "jobs/s");
    singly(options, server, report).await?;
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

/// One client that enqueues jobs one after the other, compared with one that inserts a row with its notification.
async fn singly(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let pool = connect(&fresh(server).await?, 4).await?;
    let client = Client::open(&pool, "bench").await?;
    let plain = Plain::set_up(server).await?;
    let seconds = Duration::from_secs(options.seconds);
    let mut turns = Turns::default();
    for _ in 0..options.turns {
        let bare = one_by_one(seconds, |n| plain.enqueue(n)).await?;
        let enqueue = async |n| {
            client.enqueue(&pool, Numbered { n, note: "x".repeat(120) }).await?;
            Ok(())
        };
        turns.add(bare, one_by_one(seconds, enqueue).await?);
    }
    report.note("floor: plain insert with its notification, one client", turns.floor(), "jobs/s");
    report.note("library: enqueue one job, one client", turns.ours(), "jobs/s");
    report.row("library: enqueue one job", turns.ratio(), "x floor", Target::AtLeast(0.8));
    Ok(())
}

async fn one_by_one(time: Duration, enqueue: impl AsyncFn(u64) -> Result<()>) -> Result<f64> {
    let (mut n, began_at) = (0, Instant::now());
    while began_at.elapsed() < time {
        enqueue(n).await?;
        n += 1;
    }
    Ok(n as f64 / began_at.elapsed().as_secs_f64())
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
