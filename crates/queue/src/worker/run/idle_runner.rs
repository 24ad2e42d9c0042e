//! A runner for unit tests: it has no database, and nobody records what its attempts end with.

use crate::worker::finish::Finisher;
use crate::worker::handler::Handlers;
use crate::worker::judge::Schedules;
use crate::worker::limit::Limiter;
use crate::worker::run::{AttemptRunner, Attempts};
use crate::worker::state::{Availability, ClaimBatches, RunningJobs};
use model::rules::backoff::Backoff;
use sqlx::PgPool;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

pub(crate) fn idle_runner(handlers: Handlers) -> AttemptRunner {
    let pool = PgPool::connect_lazy("postgres://nobody.invalid").unwrap();
    let running = Arc::new(RunningJobs::default());
    AttemptRunner {
        handlers,
        timeout: Duration::from_secs(1),
        limiter: Arc::new(Limiter::new(pool.clone())),
        schedules: Arc::new(Schedules::new(
            pool.clone(),
            Backoff::default(),
            Arc::new(Availability::default()),
        )),
        attempts: Arc::new(Attempts::default()),
        batches: Arc::new(ClaimBatches::default()),
        release_running: CancellationToken::new(),
        finisher: Finisher::without_writers(Arc::clone(&running)),
        running,
        pool,
    }
}
