//! Pausing, resuming and cancelling a re-sync.

use model::{
    actor::Scope,
    id::{BatchId, JobId, ResyncId},
    record::EventType,
    resync::{Resync, ResyncState},
};
use queue::{
    QueueError,
    store::jobs::{JobSpec, cancel_of_batch, enqueue, hold_of_batch, let_go_of_batch},
};
use sqlx::{Connection as _, PgConnection, Postgres, Transaction};
use uuid::Uuid;

use crate::{Delivery, DeliveryError, catalog::key::deduplication_id, store::resyncs as rows};

/// Jobs held, let go or called off at once.
pub(super) const CHUNK: i64 = 1_000;
/// Why its jobs did not run.
pub(super) const CANCELLED: &str = "re-sync cancelled";

impl Delivery {
    /// No further jobs are made, and those that wait are held: a first portion now, the others by the leader or whoever would claim them. Those
    /// on their way may finish, and a job that stands for a live change too goes on.
    ///
    /// # Errors
    /// No such re-sync in the scope; `wrong-state` unless it runs or is paused already.
    pub async fn pause_resync(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: ResyncId,
    ) -> Result<Resync, DeliveryError> {
        let paused = steer(conn, scope, id, ResyncState::Paused).await?;
        let mut portion = conn.begin().await.map_err(QueueError::from)?;
        let held = hold_of_batch(&mut portion, paused.batch_id, CHUNK).await;
        first_portion(portion, held, id).await?;
        Ok(paused)
    }

    /// Goes on where it stopped; the jobs that were held stand in line again: [`Self::wake`] after the commit.
    ///
    /// # Errors
    /// No such re-sync in the scope; `wrong-state` unless it is paused or runs already.
    pub async fn resume_resync(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: ResyncId,
    ) -> Result<Resync, DeliveryError> {
        let running = steer(conn, scope, id, ResyncState::Running).await?;
        let mut portion = conn.begin().await.map_err(QueueError::from)?;
        let freed = let_go_of_batch(&mut portion, running.batch_id, CHUNK).await;
        first_portion(portion, freed, id).await?;
        Ok(running)
    }

    /// Calls it off with the jobs that wait, a first portion now, the others by the leader, and none of them begins meanwhile; those on their
    /// way end, and are not tried again. A change that came meanwhile and was folded into such a job is sent all the same.
    ///
    /// # Errors
    /// No such re-sync in the scope; `wrong-state` once it has ended.
    pub async fn cancel_resync(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: ResyncId,
    ) -> Result<Resync, DeliveryError> {
        let cancelled = steer(conn, scope, id, ResyncState::Cancelled).await?;
        rows::release_successors(conn, id).await?;
        let mut portion = conn.begin().await.map_err(QueueError::from)?;
        let called_off = call_off(self, &mut portion, id, cancelled.batch_id).await;
        first_portion(portion, called_off, id).await?;
        rows::called_off(conn, id).await?;
        rows::get(conn, scope, id).await
    }
}

/// What cannot be held, let go or called off at once is left to the leader, who finds out which job it is: that must not keep anybody from a
/// pause.
async fn first_portion<T>(
    portion: Transaction<'_, Postgres>,
    moved: Result<T, QueueError>,
    id: ResyncId,
) -> Result<(), QueueError> {
    match moved {
        Ok(_) => portion.commit().await?,
        Err(error @ (QueueError::Database(_) | QueueError::Timeout)) => {
            portion.rollback().await?;
            tracing::warn!(resync.id = %id, %error, "the jobs of re-sync {id} are held, let go or called off without its first thousand");
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

async fn steer(
    conn: &mut PgConnection,
    scope: Scope,
    id: ResyncId,
    to: ResyncState,
) -> Result<Resync, DeliveryError> {
    let state = rows::hold(conn, scope, id).await?;
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

/// Calls off a portion of a cancelled re-sync's jobs.
async fn call_off(
    delivery: &Delivery,
    conn: &mut PgConnection,
    id: ResyncId,
    batch_id: BatchId,
) -> Result<(), QueueError> {
    let called_off = cancel_of_batch(conn, batch_id, CANCELLED, CHUNK).await?;
    go_on_alone(delivery, conn, id, &called_off).await
}

/// A live change had been folded into some of the jobs that were called off: it is no part of the re-sync and must not be lost with it.
pub(super) async fn go_on_alone(
    delivery: &Delivery,
    conn: &mut PgConnection,
    id: ResyncId,
    called_off: &[JobId],
) -> Result<(), QueueError> {
    let changed = rows::changed_among(conn, called_off).await?;
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
