//! Worker processes, and the maintenance services that their leader runs.

use crate::{Allowed, Headgate, ServiceError, permission};
use access::audit::Entry;
use chrono::{DateTime, TimeDelta, Utc};
use insight::store::stats::ServiceState;
use model::id::WorkerId;
use model::views::workers::{ServiceReport, WorkersPage};
use model::worker::Worker;
use queue::store::workers;

impl Headgate {
    /// The processes that claim jobs and those lost lately, the latest start first.
    pub async fn workers(
        &self,
        _actor: &Allowed<permission::ReadDeployment>,
    ) -> Result<Vec<Worker>, ServiceError> {
        Ok(workers::list(&self.lists).await?)
    }

    /// The processes, and the state of maintenance.
    pub async fn workers_page(
        &self,
        actor: &Allowed<permission::ReadDeployment>,
    ) -> Result<WorkersPage, ServiceError> {
        let workers = self.workers(actor).await?;
        let live = self.live.current();
        let services = live
            .measures
            .iter()
            .flat_map(|(taken_at, measures)| measures.services.iter().map(|state| report(*taken_at, state)));
        Ok(WorkersPage { workers, services: services.collect(), as_of: Utc::now() })
    }

    /// Makes a process claim nothing more; running jobs are finished.
    ///
    /// # Errors
    /// No such process.
    pub async fn drain_worker(
        &self,
        actor: &Allowed<permission::Configure>,
        id: WorkerId,
    ) -> Result<Worker, ServiceError> {
        self.change(actor, async |mut tx| {
            let worker = workers::drain(&mut tx, id).await?;
            // The whole worker, since its id alone says nothing once the process is gone.
            let entry = Entry::new("worker.drain").about(id).with(&worker);
            Ok((tx, worker, entry))
        })
        .await
    }
}

fn report(taken_at: DateTime<Utc>, state: &ServiceState) -> ServiceReport {
    ServiceReport {
        name: state.name.clone(),
        failures_in_a_row: state.failures_in_a_row,
        is_healthy: state.is_healthy,
        succeeded_at: state
            .seconds_since_success
            .map(|seconds| taken_at - TimeDelta::milliseconds((seconds * 1_000.0) as i64)),
        took_ms: (state.took_seconds * 1_000.0) as i64,
    }
}
