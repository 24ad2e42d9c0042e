//! Starts the engine of a process; its handle.

use crate::EngineConfig;
use crate::wake::Waker;
use crate::worker::engine::lease_thread::OnStuck;
use crate::worker::engine::parts::Parts;
use crate::worker::engine::report::EngineWatch;
use crate::worker::engine::supervise::supervise;
use crate::worker::handler::Handlers;
use model::id::WorkerId;
use sqlx::PgPool;
use std::sync::Arc;
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// The running engine of a process: it claims and runs jobs.
pub struct Engine {
    parts: Arc<Parts>,
    stop: CancellationToken,
    ended: JoinHandle<()>,
}

impl Engine {
    /// Starts one engine in this process. It claims nothing before it is registered, and waits for a database that is away.
    ///
    /// `stop` shuts it down in order, like [`shutdown`](Self::shutdown); keep the handle to learn when it has ended. If one of its loops stops because of
    /// a fault, it releases its lease and is no longer [alive](Self::is_alive): restart the process, or see
    /// [`start_watched`](Self::start_watched).
    #[must_use]
    pub fn start(pool: PgPool, config: EngineConfig, handlers: Handlers, stop: CancellationToken) -> Self {
        Self::start_watched(pool, config, handlers, stop, Arc::new(|_| {}))
    }

    /// As [`start`](Self::start), with a callback for when one of its loops has stopped: a handler blocks every thread of the runtime, or a loop
    /// died. It gets the loop's name. By then the lease is released and nothing more is recorded, so all that is left is to end the process; jobs that run in it start again
    /// elsewhere. It is called once, on a thread of the engine's own.
    #[must_use]
    pub fn start_watched(
        pool: PgPool,
        config: EngineConfig,
        handlers: Handlers,
        stop: CancellationToken,
        on_stuck: OnStuck,
    ) -> Self {
        let stop = stop.child_token();
        let parts = Arc::new(Parts::new(pool, config, handlers));
        let ended = tokio::spawn(supervise(Arc::clone(&parts), stop.clone(), on_stuck));
        Self { parts, stop, ended }
    }

    /// The current worker id; it changes after a lost lease.
    #[must_use]
    pub fn worker_id(&self) -> WorkerId {
        self.parts.lease.current().worker_id
    }

    /// Whether it has its lease and claims jobs, for a readiness probe. Do not use it for a liveness probe: it is false while the database is away,
    /// when the process has results that are still to be recorded. (A process whose loops have stopped releases its lease by itself.)
    #[must_use]
    pub fn is_alive(&self) -> bool {
        !self.ended.is_finished() && self.parts.watchdog.stuck().is_none() && self.parts.lease.is_registered()
    }

    /// Reports its state, also while it stops, for `/readyz` and `/metrics`.
    #[must_use]
    pub fn watch(&self) -> EngineWatch {
        EngineWatch::new(Arc::clone(&self.parts))
    }

    /// Counts the attempts whose end was recorded since the start.
    #[must_use]
    pub fn recorded(&self) -> watch::Receiver<u64> {
        self.parts.results.recorded()
    }

    /// Makes it claim at once.
    pub fn wake(&self) {
        self.parts.wake_ups.wake();
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

// Here and not with the waker, so that it knows nothing of engines.
impl Waker {
    /// Also wakes this engine of the same process directly, so that its next job does not wait for a notification from the database.
    pub fn wake_directly(&self, engine: &Engine) {
        self.also_notify(engine.parts.wake_ups.add_waker(self.id()));
    }
}
