//! stub
use crate::{EngineConfig, worker::Handlers};
use model::id::WorkerId;
use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

/// Claims and runs jobs.
#[derive(Debug)]
pub struct Engine;

/// A running engine.
#[derive(Debug)]
pub struct EngineHandle {
    worker_id: WorkerId,
}

impl Engine {
    /// Starts claiming.
    #[must_use]
    pub fn start(
        _pool: PgPool,
        _config: EngineConfig,
        _handlers: Handlers,
        _stop: CancellationToken,
    ) -> EngineHandle {
        EngineHandle { worker_id: WorkerId::generate() }
    }
}

impl EngineHandle {
    /// Which worker this is.
    #[must_use]
    pub fn worker_id(&self) -> WorkerId {
        self.worker_id
    }

    /// Whether it does its work.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        true
    }

    /// Stops in order; nothing is lost.
    pub async fn shutdown(self) {}
}
