//! Starts the parts of an engine, and stops them in order.

use crate::{
    EngineConfig,
    worker::{
        Handlers, breakers,
        claim_loop::claim_loop,
        finisher::Finisher,
        latency::write_latencies,
        lease_thread::{LeaseThread, OnStuck, Stuck, show_that_tasks_run},
        listen::listen,
        report::EngineWatch,
        shared::Shared,
    },
};
use model::id::WorkerId;
use sqlx::PgPool;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// How much of a shutdown's reserve ([`EngineConfig`]) is left when results are no longer awaited: time to sign off.
const AFTER_RESULTS: Duration = Duration::from_secs(2);
/// How much is left after that, for the caller to close maintenance, open requests and connections.
const AFTER_SIGNING_OFF: Duration = Duration::from_secs(1);

/// Claims and runs the jobs of a process.
#[derive(Debug)]
pub struct Engine;

/// A running engine.
pub struct EngineHandle {
    shared: Arc<Shared>,
    stop: CancellationToken,
    ended: JoinHandle<()>,
}

impl Engine {
    /// Starts one engine in this process. It claims nothing before it is registered, and waits for a database that is away.
    ///
    /// `stop` shuts it down in order, like [`EngineHandle::shutdown`]; keep the handle to learn when it has ended. If one of its loops stops because of
    /// a fault, it releases its lease and is no longer [alive](EngineHandle::is_alive): restart the process, or see
    /// [`start_watched`](Self::start_watched).
    #[must_use]
    pub fn start(
        pool: PgPool,
        config: EngineConfig,
        handlers: Handlers,
        stop: CancellationToken,
    ) -> EngineHandle {
        Self::start_watched(pool, config, handlers, stop, Arc::new(|_| {}))
    }

    /// As [`start`](Self::start), with a callback for when one of its loops has stopped: a handler blocks every thread of the runtime, or a loop
    /// died. By then the lease is released and nothing more is recorded, so all that is left is to end the process; jobs that run in it start again
    /// elsewhere. It is called once, on a thread of the engine's own.
    #[must_use]
    pub fn start_watched(
        pool: PgPool,
        config: EngineConfig,
        handlers: Handlers,
        stop: CancellationToken,
        on_stuck: OnStuck,
    ) -> EngineHandle {
        let stop = stop.child_token();
        let shared = Arc::new(Shared::new(pool, config, handlers));
        let ended = tokio::spawn(supervise(Arc::clone(&shared), stop.clone(), on_stuck));
        EngineHandle { shared, stop, ended }
    }
}

impl EngineHandle {
    /// The current worker id; it changes after a lost lease.
    #[must_use]
    pub fn worker_id(&self) -> WorkerId {
        self.shared.lease().worker_id
    }

    /// Whether it runs and has its lease.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        !self.ended.is_finished() && self.stuck().is_none() && *self.shared.is_registered.borrow()
    }

    /// The loop that has stopped because of a fault, if any: then this process records nothing more.
    #[must_use]
    pub fn stuck(&self) -> Option<Stuck> {
        self.shared.stuck().map(|part| Stuck { part })
    }

    /// How many jobs run in this process.
    #[must_use]
    pub fn running(&self) -> usize {
        self.shared.running()
    }

    /// Handlers that did not stop at their time-out, and block a thread each: lost capacity. The time-outs are recorded.
    #[must_use]
    pub fn blocked(&self) -> usize {
        self.shared.attempts.blocked()
    }

    /// Reports its state, also while it stops, for `/readyz` and `/metrics`.
    #[must_use]
    pub fn watch(&self) -> EngineWatch {
        EngineWatch::new(Arc::clone(&self.shared))
    }

    /// Counts the attempts whose end was recorded since the start.
    #[must_use]
    pub fn recorded(&self) -> watch::Receiver<u64> {
        self.shared.recorded.subscribe()
    }

    /// Makes it claim at once.
    pub fn wake(&self) {
        self.shared.work.notify_one();
    }

    /// What [`EngineHandle::wake`] notifies, for a waker of this process, whose notifications through the database are ignored from now on.
    pub(crate) fn local_wake(&self, waker: Uuid) -> Arc<Notify> {
        self.shared.add_waker(waker);
        Arc::clone(&self.shared.work)
    }

    /// Shuts down in order. Returns when everything that can be recorded is recorded, at the latest a second before
    /// [`EngineConfig::shutdown_deadline`].
    pub async fn shutdown(self) {
        self.stop.cancel();
        if let Err(error) = self.ended.await {
            tracing::error!(%error, "the engine did not stop in order");
        }
    }
}

/// Runs the parts until `stop`, then: stop claiming → release jobs that have not started → let the rest finish within the grace time → release those
/// that have not → record everything → end the lease.
async fn supervise(shared: Arc<Shared>, stop: CancellationToken, on_stuck: OnStuck) {
    let (finisher, recorded) = Finisher::start(Arc::clone(&shared));
    let lease_thread = LeaseThread::start(Arc::clone(&shared), finisher.clone(), on_stuck);
    let over = CancellationToken::new();
    let showing = tokio::spawn(show_that_tasks_run(Arc::clone(&shared), over.clone()));
    let measuring = tokio::spawn(write_latencies(Arc::clone(&shared), over.clone()));
    let watching = tokio::spawn(breakers::watch(Arc::clone(&shared), over.clone()));
    let listening = tokio::spawn(listen(Arc::clone(&shared), over.clone()));
    let claiming = tokio::spawn(claim_loop(Arc::clone(&shared), finisher.clone()));
    stop.cancelled().await;

    let began_at = Instant::now();
    let ends_at = shared.config.shutdown_deadline(began_at);
    let recorded_by = ends_at - AFTER_RESULTS;
    tracing::info!(running = shared.running(), "the engine is stopping: no more claims");
    shared.no_more_claims.cancel();
    // A claimer that waits for a database that is away is not awaited: what it claimed is recovered when the lease has run out.
    let _ = timeout_at(recorded_by, join("claims", claiming)).await;
    // Jobs that wait for a slot have not started.
    shared.limiter.close();
    if !nothing_runs(&shared, ends_at - EngineConfig::SHUTDOWN_RESERVE).await {
        tracing::info!(running = shared.running(), "the grace time is over: releasing running jobs");
        shared.release_running.cancel();
        // A handler that does not yield cannot be stopped. Its job is not released while it runs; it is recovered as that of a vanished worker once
        // this process has signed off.
        nothing_runs(&shared, recorded_by).await;
    }
    // It does not wait for the finisher to end, which a handler that blocks its thread keeps open. Results whose rows other transactions have locked
    // are awaited as long as running jobs are.
    if !everything_is_recorded(&shared, recorded_by).await {
        tracing::error!(
            unrecorded = shared.unrecorded(),
            held = shared.locked_elsewhere(),
            "results could not be recorded: their jobs will run again, and may repeat what they sent"
        );
    }
    over.cancel();
    let signing_off = async {
        lease_thread.end().await;
        drop(finisher);
        if shared.running() + shared.attempts.blocked() + shared.unrecorded() == 0 {
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

async fn nothing_runs(shared: &Shared, by: Instant) -> bool {
    until_left(shared, by, || shared.running() == 0).await
}

async fn everything_is_recorded(shared: &Shared, by: Instant) -> bool {
    until_left(shared, by, || shared.unrecorded() == 0).await
}

/// Waits until the condition holds, which is checked whenever a job leaves; false when it does not in time.
async fn until_left(shared: &Shared, by: Instant, is_so: impl Fn() -> bool) -> bool {
    while !is_so() {
        tokio::select! {
            () = shared.left.notified() => {}
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
    use crate::worker::Unhandled;
    use model::id::{AssignmentId, ClaimBatchId, IntegrationId};

    #[tokio::test]
    async fn a_database_that_is_away_does_not_delay_a_shutdown() {
        let pool = PgPool::connect_lazy("postgres://nobody@127.0.0.1:1").unwrap();
        let config = EngineConfig { shutdown_grace: Duration::ZERO, ..EngineConfig::default() };
        let handlers = Handlers::new(Arc::new(Unhandled::default()));
        let shared = Arc::new(Shared::new(pool, config, handlers));
        // A job that does not end, and a result that cannot be recorded.
        let lease = (AssignmentId(Uuid::now_v7()), IntegrationId::generate());
        shared.add_claimed(ClaimBatchId::generate(), &[lease]);
        shared.add_unrecorded();
        let stop = CancellationToken::new();
        stop.cancel();
        let stopped = supervise(Arc::clone(&shared), stop, Arc::new(|_| {}));
        // Twice its own time is enough on any machine.
        let in_time = tokio::time::timeout(EngineConfig::SHUTDOWN_RESERVE * 2, stopped).await;
        assert!(in_time.is_ok(), "the grace is the whole time");
        assert!(shared.release_running.is_cancelled(), "running jobs were stopped");
    }
}
