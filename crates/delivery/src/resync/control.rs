//! Pausing, resuming and cancelling a re-sync.

use model::actor::Scope;
use model::event::EventType;
use model::id::{BatchId, JobId, ResyncId};
use model::resync::{Resync, ResyncState};
use queue::QueueError;
use queue::store::jobs::{JobSpec, cancel_batch_jobs, enqueue, park_batch, resume_batch};
use sqlx::{Connection as _, PgConnection, Postgres, Transaction};
use uuid::Uuid;

use super::PORTION;
use crate::{Delivery, DeliveryError, catalog::key::deduplication_id, store::resyncs as rows};

/// The reason in its jobs.
pub(super) const CANCELLED: &str = "re-sync cancelled";

impl Delivery {
    /// Stops making jobs and parks those that wait: a first portion now, the others by the leader or by the claim that finds them. Jobs that
    /// are running may finish, and a job that includes a live change goes on.
    ///
    /// # Errors
    /// No such re-sync in the scope; `wrong-state` unless it runs or is paused already.
    pub async fn pause_resync(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: ResyncId,
    ) -> Result<Resync, DeliveryError> {
        let paused = set_state(conn, scope, id, ResyncState::Paused).await?;
        let mut portion = conn.begin().await.map_err(QueueError::from)?;
        let parked = park_batch(&mut portion, paused.batch_id, PORTION).await;
        first_portion(portion, parked, id).await?;
        Ok(paused)
    }

    /// Continues where the re-sync stopped and resumes its parked jobs; call [`Self::wake`] after the commit.
    ///
    /// # Errors
    /// No such re-sync in the scope; `wrong-state` unless it is paused or runs already.
    pub async fn resume_resync(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: ResyncId,
    ) -> Result<Resync, DeliveryError> {
        let running = set_state(conn, scope, id, ResyncState::Running).await?;
        let mut portion = conn.begin().await.map_err(QueueError::from)?;
        let resumed = resume_batch(&mut portion, running.batch_id, PORTION).await;
        first_portion(portion, resumed, id).await?;
        Ok(running)
    }

    /// Cancels a re-sync with its waiting jobs: a first portion now, the others by the leader, and none of them begins meanwhile. Jobs that are
    /// running may finish, and are not retried. A live change that was folded into a cancelled job is sent all the same.
    ///
    /// # Errors
    /// No such re-sync in the scope; `wrong-state` once it has ended.
    pub async fn cancel_resync(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: ResyncId,
    ) -> Result<Resync, DeliveryError> {
        let cancelled = set_state(conn, scope, id, ResyncState::Cancelled).await?;
        rows::detach_successors(conn, id).await?;
        let mut portion = conn.begin().await.map_err(QueueError::from)?;
        let portion_cancelled = cancel_portion(self, &mut portion, id, cancelled.batch_id).await;
        first_portion(portion, portion_cancelled, id).await?;
        rows::finish_cancelling(conn, id).await?;
        rows::get(conn, scope, id).await
    }
}

/// When the first portion fails, it is left to the leader, which finds out which of the jobs is the reason: a pause must not fail for it.
async fn first_portion<T>(
    portion: Transaction<'_, Postgres>,
    moved: Result<T, QueueError>,
    id: ResyncId,
) -> Result<(), QueueError> {
    match moved {
        Ok(_) => portion.commit().await?,
        Err(error @ (QueueError::Database(_) | QueueError::Timeout)) => {
            portion.rollback().await?;
            tracing::warn!(resync.id = %id, error = %error.with_causes(), "the first jobs of re-sync {id} could not be parked, resumed or cancelled: left to the leader");
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

async fn set_state(
    conn: &mut PgConnection,
    scope: Scope,
    id: ResyncId,
    to: ResyncState,
) -> Result<Resync, DeliveryError> {
    let state = rows::lock(conn, scope, id).await?;
    let is_allowed = matches!(state, ResyncState::Running | ResyncState::Paused);
    if !is_allowed {
        return Err(DeliveryError::Conflict {
            code: "wrong-state",
            detail: format!("the re-sync is {} already", state.as_str()),
        });
    }
    rows::set_state(conn, id, to).await?;
    rows::get(conn, scope, id).await
}

async fn cancel_portion(
    delivery: &Delivery,
    conn: &mut PgConnection,
    id: ResyncId,
    batch_id: BatchId,
) -> Result<(), QueueError> {
    let cancelled_ids = cancel_batch_jobs(conn, batch_id, CANCELLED, PORTION).await?;
    enqueue_live_changes(delivery, conn, id, &cancelled_ids).await
}

/// Makes new jobs for the live changes that had been folded into cancelled ones: they are not part of the re-sync and must not be lost.
pub(super) async fn enqueue_live_changes(
    delivery: &Delivery,
    conn: &mut PgConnection,
    id: ResyncId,
    cancelled_ids: &[JobId],
) -> Result<(), QueueError> {
    let changed = rows::live_changes_among(conn, cancelled_ids).await?;
    let specs: Vec<JobSpec> = changed
        .into_iter()
        .map(|job| JobSpec {
            app_id: job.app_id,
            integration_id: job.integration_id,
            job_type: EventType::Updated.as_str().to_owned(),
            payload: None,
            deduplication_id: Some(deduplication_id(&job.record_type, &job.record_id)),
            record: Some((job.record_type, job.record_id)),
            serialize_key: None,
            correlation_id: Uuid::from(id).to_string(),
            trace: None,
            batch_id: None,
            priority: 0,
            run_at: None,
            gathers_until: None,
            expires_at: None,
            max_attempts: job.max_attempts.unwrap_or(delivery.config.max_attempts),
            timeout_ms: job.timeout_ms,
            is_full: false,
        })
        .collect();
    enqueue(conn, &specs).await?;
    Ok(())
}
