//! What a test makes with limits that no program sets: services of the leader, and the handle of a job.

use crate::maintenance::{Counters, Recount, Reindex, Service};
use crate::store::jobs::ClaimedJob;
use crate::worker::LeasedJob;
use sqlx::PgPool;
use std::{sync::Arc, time::Duration};

/// The recount of jobs, and then of these counters, without the wait after the start of a process.
#[must_use]
pub fn recount(counters: Vec<Arc<dyn Counters>>, count_timeout: Duration) -> Arc<dyn Service> {
    Arc::new(Recount::with(counters, Duration::ZERO, count_timeout))
}

/// The service that rebuilds bloated indexes, for indexes of at least so many bytes.
#[must_use]
pub fn reindex(min_bytes: i64) -> Arc<dyn Service> {
    Arc::new(Reindex { min_bytes })
}

/// The handle of a claimed job, without limits and with half a minute of time. Its progress is written where there is a pool.
#[must_use]
pub fn leased_job(job: ClaimedJob, progress_to: Option<PgPool>) -> LeasedJob {
    let job = LeasedJob::unlimited(job, Duration::from_secs(30));
    match progress_to {
        Some(pool) => job.reporting_to(pool),
        None => job,
    }
}
