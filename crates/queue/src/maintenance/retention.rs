//! Deletes what is past its retention: rows of tables, and whole days of finished jobs.

use super::Service;
use crate::error::Result;
use crate::store::leader::Term;
use crate::store::partitions;
use crate::store::retention::{self, Expired};
use async_trait::async_trait;
use model::retention::{Retained, Retentions};
use sqlx::PgPool;
use std::{sync::Arc, time::Duration};

/// Deletes expired rows of the tables of one crate.
#[derive(Debug)]
pub(super) struct Retention {
    name: &'static str,
    rows: Vec<Expired>,
    /// How long finished jobs are kept; none: their partitions are not this service's.
    finished_jobs: Option<Duration>,
}

/// A service of this name that deletes these.
#[must_use]
pub fn retention_of(name: &'static str, rows: Vec<Expired>) -> Arc<dyn Service> {
    Arc::new(Retention { name, rows, finished_jobs: None })
}

impl Retention {
    /// The engine's: it drops the day partitions of finished jobs too.
    pub(super) fn of_engine(kept: Retentions) -> Self {
        let finished_jobs = Some(kept.of(Retained::FinishedJobs));
        Self { name: "retention", rows: retention::of_engine(), finished_jobs }
    }
}

#[async_trait]
impl Service for Retention {
    fn name(&self) -> &'static str {
        self.name
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(5 * 60)
    }

    /// A large table takes long.
    fn deadline(&self) -> Duration {
        Duration::from_secs(60 * 60)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool> {
        let is_more = retention::delete_expired(pool, term, &self.rows).await;
        // Also when rows could not be deleted, because it is the old partitions that fill a disk.
        if let (Some(kept), Ok(false) | Err(_)) = (self.finished_jobs, &is_more) {
            partitions::drop_expired(pool, term, kept).await?;
        }
        is_more
    }
}
