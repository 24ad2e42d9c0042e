//! `POST /jobs`: work that is not about a record.

use std::collections::{HashMap, HashSet};

use model::actor::Scope;
use model::id::{AppId, BatchId, IntegrationId};
use model::integration::{IntegrationState, IntegrationType};
use model::job::{EnqueuedJob, NewJob};
use model::json::MAX_RECORD_BYTES;
use model::problem::Faults;
use queue::QueueError;
use queue::store::connections::begin;
use queue::store::jobs::{BEGIN, JobSpec};
use uuid::Uuid;

use crate::catalog::key::RESERVED_PREFIX;
use crate::store::jobs as rows;
use crate::store::jobs::Target;
use crate::{Delivery, DeliveryError};

/// Most jobs in one request.
const MAX_JOBS: usize = 1_000;
/// How often a transaction is tried that ends in deadlocks.
const MAX_TRIES: usize = 5;

impl Delivery {
    /// Accepts the jobs of an array, all or none. Pointers of faults are as `/3/job_type`.
    ///
    /// # Errors
    /// Every fault of every job; `NotFound` for an integration, app or batch that is unknown, of another app or outside the scope.
    pub async fn enqueue_jobs(
        &self,
        scope: Scope,
        new: Vec<NewJob>,
    ) -> Result<Vec<EnqueuedJob>, DeliveryError> {
        self.enqueue(scope, new, |index| format!("/{index}")).await
    }

    /// Accepts one job. Pointers of faults are as `/job_type`.
    ///
    /// # Errors
    /// As with [`Self::enqueue_jobs`].
    pub async fn enqueue_job(&self, scope: Scope, new: NewJob) -> Result<Vec<EnqueuedJob>, DeliveryError> {
        self.enqueue(scope, vec![new], |_| String::new()).await
    }

    async fn enqueue(
        &self,
        scope: Scope,
        new: Vec<NewJob>,
        pointer: impl Fn(usize) -> String,
    ) -> Result<Vec<EnqueuedJob>, DeliveryError> {
        check(&new, &pointer)?;
        let mut tries = 0;
        loop {
            tries += 1;
            let mut transaction = begin(&self.pool, BEGIN).await?;
            let references = References::lock(&mut transaction, scope, &new).await?;
            let specs = self.specs(scope, &new, &references, &pointer)?;
            match queue::store::jobs::enqueue(&mut transaction, &specs).await {
                Ok(jobs) => {
                    transaction.commit().await?;
                    self.waker.wake();
                    return Ok(jobs);
                }
                Err(QueueError::Database(error)) if tries < MAX_TRIES && is_race(&error) => {
                    transaction.rollback().await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn specs(
        &self,
        scope: Scope,
        new: &[NewJob],
        references: &References,
        pointer: &impl Fn(usize) -> String,
    ) -> Result<Vec<JobSpec>, DeliveryError> {
        let mut faults = Faults::default();
        let mut specs = Vec::with_capacity(new.len());
        for (index, job) in new.iter().enumerate() {
            let at = pointer(index);
            let target = references.target(scope, job, &at)?;
            match target.integration_type {
                IntegrationType::Webhook | IntegrationType::External => {}
                IntegrationType::Rest | IntegrationType::Bundle => faults.add(
                    format!("{at}/integration_id"),
                    "is of type rest or bundle: such integrations take record changes only",
                ),
            }
            if target.state == IntegrationState::Disabled {
                faults.add(format!("{at}/integration_id"), "is disabled: it takes no jobs");
            }
            if let Err(part) = job.check_at(target.now) {
                faults.nest(&at, part);
            }
            specs.push(JobSpec {
                app_id: target.app_id,
                integration_id: target.id,
                job_type: job.job_type.clone(),
                payload: job.payload.clone(),
                record: None,
                deduplication_id: job.deduplication_id.clone(),
                serialize_key: job.serialize_key.clone(),
                correlation_id: job.correlation_id.clone().unwrap_or_else(|| Uuid::now_v7().to_string()),
                trace: job.trace,
                batch_id: job.batch_id,
                priority: job.priority,
                run_at: job.run_at,
                gathers_until: None,
                expires_at: job.expires_at,
                max_attempts: job.max_attempts.or(target.max_attempts).unwrap_or(self.config.max_attempts),
                timeout_ms: job.timeout_ms.or(target.timeout_ms),
                is_full: false,
            });
        }
        faults.into_result()?;
        Ok(specs)
    }
}

fn check(new: &[NewJob], pointer: &impl Fn(usize) -> String) -> Result<(), DeliveryError> {
    let mut faults = Faults::default();
    let mut too_large = Faults::default();
    faults.require(new.len() <= MAX_JOBS, "", "must be at most 1,000 jobs (limit: items in an array)");
    for (index, job) in new.iter().enumerate().take(MAX_JOBS) {
        let at = pointer(index);
        if let Err(part) = job.check() {
            faults.nest(&at, part);
        }
        if job.deduplication_id.as_deref().is_some_and(|id| id.starts_with(RESERVED_PREFIX)) {
            faults.add(format!("{at}/deduplication_id"), "must not begin with headgate: (its own jobs do)");
        }
        let bytes = job.payload.as_ref().map_or(0, |payload| payload.to_string().len());
        if bytes > MAX_RECORD_BYTES {
            too_large.add(format!("{at}/payload"), format!("is {bytes} bytes of JSON; limit: payload 1 MB"));
        }
    }
    faults.into_result()?;
    too_large.into_result().map_err(DeliveryError::TooLarge)
}

/// Everything that the jobs of a request refer to, locked against deletion.
struct References {
    by_id: HashMap<IntegrationId, Target>,
    built_in: HashMap<AppId, Target>,
    batches: HashSet<(BatchId, AppId)>,
}

impl References {
    async fn lock(
        conn: &mut sqlx::PgConnection,
        scope: Scope,
        new: &[NewJob],
    ) -> Result<Self, DeliveryError> {
        let ids: Vec<Uuid> = new.iter().filter_map(|job| job.integration_id).map(|id| id.0).collect();
        let apps: Vec<Uuid> = new
            .iter()
            .filter(|job| job.integration_id.is_none())
            .filter_map(|job| job.app_id)
            .map(|id| id.0)
            .collect();
        let batches: Vec<Uuid> = new.iter().filter_map(|job| job.batch_id).map(|id| id.0).collect();
        let targets = rows::lock_targets(conn, scope, &ids, &apps).await?;
        let mut references =
            Self { by_id: HashMap::new(), built_in: HashMap::new(), batches: HashSet::new() };
        for target in targets {
            if target.is_built_in {
                references.built_in.insert(target.app_id, target.clone());
            }
            references.by_id.insert(target.id, target);
        }
        references.batches = rows::lock_batches(conn, &batches).await?;
        Ok(references)
    }

    fn target(&self, scope: Scope, job: &NewJob, at: &str) -> Result<&Target, DeliveryError> {
        let target = match (job.integration_id, job.app_id) {
            (Some(id), app_id) => self
                .by_id
                .get(&id)
                .filter(|target| app_id.is_none_or(|app_id| app_id == target.app_id))
                .ok_or_else(|| DeliveryError::not_found_at("integration", format!("{at}/integration_id")))?,
            (None, Some(app_id)) => self
                .built_in
                .get(&app_id)
                .ok_or_else(|| DeliveryError::not_found_at("app", format!("{at}/app_id")))?,
            (None, None) => {
                return Err(DeliveryError::fault(format!("{at}/integration_id"), "or app_id is required"));
            }
        };
        if !scope.contains(target.app_id) {
            return Err(DeliveryError::not_found_at("integration", format!("{at}/integration_id")));
        }
        if job.batch_id.is_some_and(|batch| !self.batches.contains(&(batch, target.app_id))) {
            return Err(DeliveryError::not_found_at("batch", format!("{at}/batch_id")));
        }
        Ok(target)
    }
}

fn is_race(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|e| e.code()).is_some_and(|code| code == "40P01" || code == "40001")
}
