//! Folds failures by cause.

use crate::store::failures;
use async_trait::async_trait;
use model::{failure::CauseId, id::JobId};
use queue::error::QueueError;
use queue::maintenance::{Counters, Service};
use queue::store::counts::fold::PORTION;
use queue::store::leader::Term;
use sqlx::{PgConnection, PgPool};
use std::{sync::Arc, time::Duration};
use tokio::sync::Mutex;
use uuid::Uuid;

/// Folds `failure_deltas` into groups, and removes rows of ended jobs from `failing_jobs`: a portion each second.
#[derive(Debug, Default)]
pub struct Failures {
    swept: Mutex<Option<JobId>>,
}

#[async_trait]
impl Service for Failures {
    fn name(&self) -> &'static str {
        "failures"
    }

    fn sign(&self) -> Option<&'static str> {
        Some("exists (select from headgate.failure_deltas) or exists (select from headgate.failing_jobs)")
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn counters(&self) -> Vec<Arc<dyn Counters>> {
        vec![Arc::new(FailureCounts)]
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let folded = failures::fold(pool, term).await?;
        let mut swept = self.swept.lock().await;
        *swept = failures::sweep(pool, term, *swept).await?;
        Ok(folded >= PORTION)
    }
}

/// How many failures each cause has. A cause is in the first half of the id of its part.
#[derive(Debug)]
struct FailureCounts;

fn cause_of(part: Uuid) -> CauseId {
    CauseId(part.as_u64_pair().0)
}

#[async_trait]
impl Counters for FailureCounts {
    fn name(&self) -> &'static str {
        "failures"
    }

    async fn next(&self, connection: &mut PgConnection, after: Uuid) -> Result<Option<Uuid>, QueueError> {
        let next = failures::next_cause(connection, cause_of(after)).await?;
        Ok(next.map(|cause| Uuid::from_u64_pair(cause.0, 0)))
    }

    async fn prove(&self, connection: &mut PgConnection, part: Uuid) -> Result<i64, QueueError> {
        failures::prove_failures(connection, cause_of(part)).await
    }

    fn report(&self, part: Uuid, off_by: i64) {
        let cause = cause_of(part);
        tracing::error!(failure.cause = %cause, off_by, "the number of failures of cause {cause} was wrong and has been corrected");
    }
}
