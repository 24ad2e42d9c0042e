//! Pausing, resuming and cancelling a re-sync.

use model::{
    actor::Scope,
    id::ResyncId,
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

impl Delivery {
    /// No further jobs are made, and those that wait are held: a first portion now, the others by the leader. Those being processed may
    /// finish, and a job that stands for a live change too goes on.
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

    /// Calls it off with the jobs that wait; those being processed end. A change that came meanwhile and was folded into such a job is
    /// sent all the same.
    ///
    /// # Errors
    /// No such re-sync in the scope; `wrong-state` once it has ended.
    pub async fn cancel_resync(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: ResyncId,
    ) -> Result<Resync, DeliveryError> {
        steer(conn, scope, id, ResyncState::Cancelled).await?;
        rows::release_successors(conn, id).await?;
        call_off(self, conn, id).await?;
        rows::get(conn, scope, id).await
    }
}

/// What cannot be held or let go at once is left to the leader, who finds out which job it is: that must not keep anybody from a pause.
async fn first_portion(
    portion: Transaction<'_, Postgres>,
    moved: Result<i64, QueueError>,
    id: ResyncId,
) -> Result<(), QueueError> {
    match moved {
        Ok(_) => portion.commit().await?,
        Err(error @ (QueueError::Database(_) | QueueError::Timeout)) => {
            portion.rollback().await?;
            tracing::warn!(resync.id = %id, %error, "the jobs of re-sync {id} are held or let go without its first thousand");
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

/// Calls off a portion of a cancelled re-sync's jobs; true when there may be more.
pub(super) async fn call_off(
    delivery: &Delivery,
    conn: &mut PgConnection,
    id: ResyncId,
) -> Result<bool, DeliveryError> {
    let Some(batch_id) = rows::batch_to_call_off(conn, id).await? else { return Ok(false) };
    let called_off = cancel_of_batch(conn, batch_id, "re-sync cancelled", CHUNK).await?;
    if called_off.is_empty() {
        rows::called_off(conn, id).await?;
        return Ok(false);
    }
    // A live change had been folded into these: it is no part of the re-sync and must not be lost with it.
    let changed = rows::changed_among(conn, &called_off).await?;
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
            batch_id: None,
            priority: 0,
            run_at: None,
            expires_at: None,
            max_attempts: job.max_attempts.unwrap_or(delivery.config.max_attempts),
            timeout_ms: job.timeout_ms,
            is_full: false,
        })
        .collect();
    enqueue(conn, &specs).await?;
    Ok(true)
}
