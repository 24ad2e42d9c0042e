//! Runs the parts of an engine, and stops them in order.

use crate::EngineConfig;
use crate::worker::claim::claim_loop;
use crate::worker::engine::lease_thread::{LeaseThread, LeaseWatch, OnStuck, show_that_tasks_run};
use crate::worker::engine::parts::Parts;
use std::{sync::Arc, time::Duration};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// How much of a shutdown's [reserve](EngineConfig::SHUTDOWN_RESERVE) is left when results are no longer awaited: time to sign off.
const AFTER_RESULTS: Duration = Duration::from_secs(2);
/// How much is left after that, for the caller to close maintenance, open requests and connections.
const AFTER_SIGNING_OFF: Duration = Duration::from_secs(1);

/// Runs the parts until `stop`, then: stop claiming → release jobs that have not started → let the rest finish within the grace time → release those
/// that have not → record everything → end the lease.
pub(super) async fn supervise(parts: Arc<Parts>, stop: CancellationToken, on_stuck: OnStuck) {
    let (finisher, recorded) = parts.start_finisher();
    let watch = LeaseWatch {
        heartbeats: parts.heartbeats(),
        overdue_check: parts.overdue_check(finisher.clone()),
        lease: Arc::clone(&parts.lease),
        watchdog: Arc::clone(&parts.watchdog),
        watchdog_timeout: parts.config.watchdog_timeout,
    };
    let lease_thread = LeaseThread::start(watch, on_stuck);
    let over = CancellationToken::new();
    let showing = tokio::spawn(show_that_tasks_run(Arc::clone(&parts.watchdog), over.clone()));
    let (latencies, until) = (Arc::clone(&parts.latencies), over.clone());
    let measuring = tokio::spawn(async move { latencies.write_regularly(until).await });
    let (breakers, until) = (Arc::clone(&parts.breakers), over.clone());
    let watching = tokio::spawn(async move { breakers.watch(until).await });
    let listening = tokio::spawn(parts.listener().listen(over.clone()));
    let claiming = tokio::spawn(claim_loop(Arc::new(parts.claims(finisher.clone()))));
    stop.cancelled().await;

    let began_at = Instant::now();
    let ends_at = parts.config.shutdown_deadline(began_at);
    let recorded_by = ends_at - AFTER_RESULTS;
    tracing::info!(running = parts.running.count(), "the engine is stopping: no more claims");
    parts.no_more_claims.cancel();
    // A claimer that waits for a database that is away is not awaited: what it claimed is recovered when the lease has run out.
    let _ = timeout_at(recorded_by, join("claims", claiming)).await;
    // Jobs that wait for a slot have not started.
    parts.limiter.close();
    let nothing_runs = || parts.running.count() == 0;
    if !until_left(&parts, ends_at - EngineConfig::SHUTDOWN_RESERVE, nothing_runs).await {
        tracing::info!(running = parts.running.count(), "the grace time is over: releasing running jobs");
        parts.release_running.cancel();
        // A handler that does not yield cannot be stopped. Its job is not released while it runs; it is recovered as that of a vanished worker once
        // this process has signed off.
        until_left(&parts, recorded_by, nothing_runs).await;
    }
    // It does not wait for the finisher to end, which a handler that blocks its thread keeps open. Results whose rows other transactions have locked
    // are awaited as long as running jobs are.
    if !until_left(&parts, recorded_by, || parts.results.unrecorded() == 0).await {
        tracing::error!(
            unrecorded = parts.results.unrecorded(),
            locked_elsewhere = parts.results.locked_elsewhere(),
            "results could not be recorded: their jobs will run again, and may repeat what they sent"
        );
    }
    over.cancel();
    let signing_off = async {
        lease_thread.end().await;
        drop(finisher);
        if parts.running.count() + parts.attempts.blocked() + parts.results.unrecorded() == 0 {
            join("results", recorded).await;
        }
        join("wake-ups", listening).await;
        join("breakers", watching).await;
        join("latencies", measuring).await;
        join("runtime", showing).await;
    };
    if timeout_at(ends_at - AFTER_SIGNING_OFF, signing_off).await.is_err() {
        tracing::warn!(
            "the database did not answer in time: the worker has not signed off, and its lease will run out"
        );
    }
    tracing::info!(duration_ms = began_at.elapsed().as_millis(), "the engine has stopped");
}

/// Waits until the condition holds, which is checked whenever a job leaves; false when it does not in time.
async fn until_left(parts: &Parts, by: Instant, is_so: impl Fn() -> bool) -> bool {
    while !is_so() {
        tokio::select! {
            () = parts.running.left() => {}
            () = tokio::time::sleep_until(by) => return is_so(),
        }
    }
    true
}

async fn join(what: &str, task: JoinHandle<()>) {
    if let Err(error) = task.await {
        tracing::error!(%error, "{what} ended with a panic");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::handler::{Handlers, Unhandled};
    use model::id::{AssignmentId, IntegrationId};
    use sqlx::PgPool;
    use uuid::Uuid;

    #[tokio::test]
    async fn a_database_that_is_away_does_not_delay_a_shutdown() {
        let pool = PgPool::connect_lazy("postgres://nobody@127.0.0.1:1").unwrap();
        let config = EngineConfig { shutdown_grace: Duration::ZERO, ..EngineConfig::default() };
        let handlers = Handlers::new(Arc::new(Unhandled::default()));
        let parts = Arc::new(Parts::new(pool, config, handlers));
        // A job that does not end, and a result that cannot be recorded.
        let lease = (AssignmentId(Uuid::now_v7()), IntegrationId::generate());
        parts.running.add(&[lease]);
        parts.results.add_unrecorded();
        let stop = CancellationToken::new();
        stop.cancel();
        let stopped = supervise(Arc::clone(&parts), stop, Arc::new(|_| {}));
        // Twice its own time is enough on any machine.
        let in_time = tokio::time::timeout(EngineConfig::SHUTDOWN_RESERVE * 2, stopped).await;
        assert!(in_time.is_ok(), "the grace is the whole time");
        assert!(parts.release_running.is_cancelled(), "running jobs were stopped");
    }
}
