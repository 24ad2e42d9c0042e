//! Starts the parts of an engine and stops them in order.

use crate::{
    EngineConfig,
    worker::{
        Handlers, claim_loop::claim_loop, finisher::Finisher, heartbeat::heartbeat, listen::listen,
        shared::Shared,
    },
};
use model::id::WorkerId;
use sqlx::PgPool;
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

/// How long unrecorded results are tried at shutdown when the database is away.
const FLUSH_PATIENCE: Duration = Duration::from_secs(10);

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
    /// `stop` ends it in order, as [`EngineHandle::shutdown`] does; hold the handle to know when it has ended.
    #[must_use]
    pub fn start(
        pool: PgPool,
        config: EngineConfig,
        handlers: Handlers,
        stop: CancellationToken,
    ) -> EngineHandle {
        let stop = stop.child_token();
        let shared = Arc::new(Shared::new(pool, config, handlers));
        let ended = tokio::spawn(supervise(Arc::clone(&shared), stop.clone()));
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
        !self.ended.is_finished() && *self.shared.is_registered.borrow()
    }

    /// Jobs that run in this process.
    #[must_use]
    pub fn running(&self) -> usize {
        self.shared.running()
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

    /// Stops in order and comes back when everything that can be recorded is recorded.
    pub async fn shutdown(self) {
        self.stop.cancel();
        if let Err(error) = self.ended.await {
            tracing::error!(%error, "the engine did not stop in order");
        }
    }
}

/// Runs the parts until told to stop, then: claim no more → give back what has not begun → let the rest finish within the grace time →
/// give back what has not → record everything → end the lease.
async fn supervise(shared: Arc<Shared>, stop: CancellationToken) {
    let (finisher, recorded) = Finisher::start(Arc::clone(&shared));
    let beating = CancellationToken::new();
    let beats = tokio::spawn(heartbeat(Arc::clone(&shared), beating.clone()));
    let listening = tokio::spawn(listen(Arc::clone(&shared)));
    let claiming = tokio::spawn(claim_loop(Arc::clone(&shared), finisher.clone()));
    stop.cancelled().await;

    let began_at = Instant::now();
    tracing::info!(running = shared.running(), "the engine stops: no more claims");
    shared.no_more_claims.cancel();
    join("claims", claiming).await;
    // Jobs that wait for a send time have not begun.
    shared.limiter.close();
    if !nothing_runs(&shared, shared.config.shutdown_grace).await {
        tracing::info!(running = shared.running(), "the grace time is over: running jobs are given back");
        shared.give_back.cancel();
        // A handler that does not yield cannot be stopped; its lease runs out.
        nothing_runs(&shared, Duration::from_secs(5)).await;
    }
    drop(finisher);
    if tokio::time::timeout(FLUSH_PATIENCE, recorded).await.is_err() {
        tracing::error!(
            unrecorded = shared.unrecorded(),
            "results could not be recorded: their jobs will run again"
        );
    }
    beating.cancel();
    join("heartbeats", beats).await;
    join("wake-ups", listening).await;
    tracing::info!(duration_ms = began_at.elapsed().as_millis(), "the engine has stopped");
}

async fn nothing_runs(shared: &Shared, at_most: Duration) -> bool {
    let deadline = Instant::now() + at_most;
    while shared.running() > 0 {
        tokio::select! {
            () = shared.left.notified() => {}
            () = tokio::time::sleep_until(deadline) => return shared.running() == 0,
        }
    }
    true
}

async fn join(what: &str, task: JoinHandle<()>) {
    if let Err(error) = task.await {
        tracing::error!(%error, "{what} ended with a panic");
    }
}
