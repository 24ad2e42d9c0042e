//! Starts the parts of an engine and stops them in order.

use crate::{
    EngineConfig,
    worker::{
        Handlers, breakers,
        claim_loop::claim_loop,
        finisher::Finisher,
        latency::write_latencies,
        lifeline::{Lifeline, OnStuck, Stuck, show_that_tasks_run},
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

/// Of a shutdown's [last steps](EngineConfig::LAST_STEPS), what is left when results are no longer waited for: to sign off, and after that for
/// maintenance, open requests and connections, which whoever ends the process closes.
const AFTER_RESULTS: Duration = Duration::from_secs(2);
const AFTER_SIGNING_OFF: Duration = Duration::from_secs(1);

/// Claims and runs jobs.
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
    /// `stop` ends it in order, as [`EngineHandle::shutdown`] does; hold the handle to know when it has ended. Should one of its loops stop
    /// by a fault, it gives its lease up and is no longer [alive](EngineHandle::is_alive): start the process anew, or see
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

    /// As [`start`](Self::start), with what to do when one of its loops has stopped: a handler blocks every thread of the runtime, or a
    /// loop died. Then the lease is given up already and nothing more is recorded, so the one thing left is to end the process; jobs that
    /// run in it begin elsewhere when the lease has run out. Called once, on a thread of the engine's own.
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
    /// Which worker this is now; another one after a lost lease.
    #[must_use]
    pub fn worker_id(&self) -> WorkerId {
        self.shared.lease().worker_id
    }

    /// Whether it runs and holds its lease.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        !self.ended.is_finished() && self.stuck().is_none() && *self.shared.is_registered.borrow()
    }

    /// The loop that has stopped, if one has: this process records nothing more.
    #[must_use]
    pub fn stuck(&self) -> Option<Stuck> {
        self.shared.stuck().map(|part| Stuck { part })
    }

    /// Jobs that run in this process.
    #[must_use]
    pub fn running(&self) -> usize {
        self.shared.running()
    }

    /// Handlers that did not stop when their time was over and block a thread each: lost capacity. Their time-outs are recorded.
    #[must_use]
    pub fn blocked(&self) -> usize {
        self.shared.attempts.blocked()
    }

    /// How it is doing, for as long as anyone asks: `/readyz` and `/metrics`.
    #[must_use]
    pub fn watch(&self) -> EngineWatch {
        EngineWatch::new(Arc::clone(&self.shared))
    }

    /// Ends recorded since the start, whatever they were.
    #[must_use]
    pub fn recorded(&self) -> watch::Receiver<u64> {
        self.shared.recorded.subscribe()
    }

    /// Looks for work at once.
    pub fn wake(&self) {
        self.shared.work.notify_one();
    }

    /// What [`EngineHandle::wake`] rings, for a waker that rings it itself: it need not be heard through the database any more.
    pub(crate) fn bell_for(&self, waker: Uuid) -> Arc<Notify> {
        self.shared.know(waker);
        Arc::clone(&self.shared.work)
    }

    /// Stops in order and comes back when everything that can be recorded is recorded, a second before
    /// [`EngineConfig::end_of_shutdown`] at the latest.
    pub async fn shutdown(self) {
        self.stop.cancel();
        if let Err(error) = self.ended.await {
            tracing::error!(%error, "the engine did not stop in order");
        }
    }
}

/// Runs the parts until told to stop, then: claim no more → give back what has not begun → let the rest finish within the grace time →
/// give back what has not → record everything → end the lease.
async fn supervise(shared: Arc<Shared>, stop: CancellationToken, on_stuck: OnStuck) {
    let (finisher, recorded) = Finisher::start(Arc::clone(&shared));
    let lifeline = Lifeline::start(Arc::clone(&shared), finisher.clone(), on_stuck);
    let over = CancellationToken::new();
    let showing = tokio::spawn(show_that_tasks_run(Arc::clone(&shared), over.clone()));
    let measuring = tokio::spawn(write_latencies(Arc::clone(&shared), over.clone()));
    let watching = tokio::spawn(breakers::watch(Arc::clone(&shared), over.clone()));
    let listening = tokio::spawn(listen(Arc::clone(&shared), over.clone()));
    let claiming = tokio::spawn(claim_loop(Arc::clone(&shared), finisher.clone()));
    stop.cancelled().await;

    let began_at = Instant::now();
    let ends_at = shared.config.end_of_shutdown(began_at);
    let recorded_by = ends_at - AFTER_RESULTS;
    tracing::info!(running = shared.running(), "the engine stops: no more claims");
    shared.no_more_claims.cancel();
    // One that waits for a database that is away is left to itself: what it claimed is given back when the lease is over.
    let _ = timeout_at(recorded_by, join("claims", claiming)).await;
    // Jobs that wait for a send time have not begun.
    shared.limiter.close();
    if !nothing_runs(&shared, ends_at - EngineConfig::LAST_STEPS).await {
        tracing::info!(running = shared.running(), "the grace time is over: running jobs are given back");
        shared.give_back.cancel();
        // A handler that does not yield cannot be stopped. Its job is not given back while it runs: it is taken away as a vanished
        // worker's once this process has signed off.
        nothing_runs(&shared, recorded_by).await;
    }
    // Not until the finisher ends: a handler that blocks its thread keeps it open. What other transactions hold is waited for as long as
    // a running job is: the one thing that can still be done for it.
    if !everything_is_recorded(&shared, recorded_by).await {
        tracing::error!(
            unrecorded = shared.unrecorded(),
            held = shared.held(),
            "results could not be recorded: their jobs will run again, and may send again what they sent"
        );
    }
    over.cancel();
    let farewell = async {
        lifeline.end().await;
        drop(finisher);
        if shared.running() + shared.attempts.blocked() + shared.unrecorded() == 0 {
            join("results", recorded).await;
        }
        join("wake-ups", listening).await;
        join("breakers", watching).await;
        join("latencies", measuring).await;
        join("runtime", showing).await;
    };
    if timeout_at(ends_at - AFTER_SIGNING_OFF, farewell).await.is_err() {
        tracing::warn!(
            "the database did not answer in time: the worker has not signed off, and its lease runs out"
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

/// Waits until jobs have left far enough; false when they have not in time.
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
    async fn a_database_that_is_away_holds_up_no_shutdown() {
        let pool = PgPool::connect_lazy("postgres://nobody@127.0.0.1:1").unwrap();
        let config = EngineConfig { shutdown_grace: Duration::ZERO, ..EngineConfig::default() };
        let handlers = Handlers::new(Arc::new(Unhandled::default()));
        let shared = Arc::new(Shared::new(pool, config, handlers));
        // A job that does not end, and a result that cannot be recorded.
        let lease = (AssignmentId(Uuid::now_v7()), IntegrationId::generate());
        shared.take_in(ClaimBatchId::generate(), &[lease]);
        shared.add_unrecorded();
        let stop = CancellationToken::new();
        stop.cancel();
        let stopped = supervise(Arc::clone(&shared), stop, Arc::new(|_| {}));
        // It waits for nothing but its own time: twice that is enough on any machine.
        let in_time = tokio::time::timeout(EngineConfig::LAST_STEPS * 2, stopped).await;
        assert!(in_time.is_ok(), "the grace is the whole time");
        assert!(shared.give_back.is_cancelled(), "running jobs were stopped");
    }
}
