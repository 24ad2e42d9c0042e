//! How many slots a second the rate limiter reserves, with the engine's statement, for one limit and for fifty.

use crate::Options;
use crate::report::{Report, Target};
use crate::world::{connect, execute, fresh};
use anyhow::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let url = fresh(server).await?;
    let pool = connect(&url, 10).await?;
    execute(
        &pool,
        "insert into headgate.rate_limits (key, requests, per_seconds, emission_us)
         select 'limit ' || n, 1000000, 1, 1 from generate_series(0, 49) n",
    )
    .await?;
    for (limits, at_once, what) in [
        (1, 1, "rate decisions, one limit, one slot a statement"),
        (1, 10, "rate decisions, one limit, ten slots a statement"),
        (50, 1, "rate decisions, fifty limits, one slot a statement"),
    ] {
        let decided = Arc::new(AtomicU64::new(0));
        let (began_at, time) = (Instant::now(), Duration::from_secs(options.seconds));
        let mut askers = tokio::task::JoinSet::new();
        for asker in 0..8_u64 {
            let (pool, decided) = (pool.clone(), Arc::clone(&decided));
            askers.spawn(async move {
                let mut round = asker;
                while began_at.elapsed() < time {
                    let slots: Vec<i64> =
                        sqlx::query_scalar("select slots_us from headgate.reserve_slots($1, $2, 500000)")
                            .bind(vec![format!("limit {}", round % limits)])
                            .bind(at_once)
                            .fetch_one(&pool)
                            .await?;
                    decided.fetch_add(slots.len().max(1) as u64, Ordering::Relaxed);
                    round += 1;
                }
                anyhow::Ok(())
            });
        }
        while let Some(asker) = askers.join_next().await {
            asker??;
        }
        let rate = decided.load(Ordering::Relaxed) as f64 / began_at.elapsed().as_secs_f64();
        // The engine reserves for all waiting jobs of an integration at once, so ten at a time is the usual case.
        let target = if at_once > 1 { Target::AtLeast(10_000.0) } else { Target::None };
        report.row(what, rate, "a second", target);
    }
    Ok(())
}
