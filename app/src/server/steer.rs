//! What the console's buttons change: each in one transaction with its line of the audit log, on the primary database.

use super::context;
use crate::calls::{error::CallError, resyncs::ResyncStep};
use access::audit::{self, Entry};
use model::{
    actor::Actor,
    breaker::BreakerOrder,
    id::{IntegrationId, JobId, ResyncId},
    integration::IntegrationChanges,
    job::JobStatus,
    resync::NewResync,
};
use queue::store::jobs;

/// Holds an integration's jobs back.
///
/// # Errors
/// No such integration, or it is switched off.
pub async fn pause_integration(actor: &Actor, id: IntegrationId) -> Result<(), CallError> {
    let cx = context::current()?;
    let reason = format!("paused by {}", actor.name);
    let mut tx = cx.delivery.pool.begin().await?;
    let before = cx.delivery.integration(actor.scope(), id).await?;
    let after = cx.delivery.pause_integration(&mut tx, actor.scope(), id, Some(&reason)).await?;
    let entry = Entry::new("integration.pause").about(id).of_app(after.app_id).changed(&before, &after);
    audit::record(&mut tx, actor, entry).await?;
    Ok(tx.commit().await?)
}

/// Lets an integration's jobs go out again.
///
/// # Errors
/// No such integration, or it is switched off.
pub async fn resume_integration(actor: &Actor, id: IntegrationId) -> Result<(), CallError> {
    let cx = context::current()?;
    let mut tx = cx.delivery.pool.begin().await?;
    let before = cx.delivery.integration(actor.scope(), id).await?;
    let after = cx.delivery.resume_integration(&mut tx, actor.scope(), id).await?;
    let entry = Entry::new("integration.resume").about(id).of_app(after.app_id).changed(&before, &after);
    audit::record(&mut tx, actor, entry).await?;
    tx.commit().await?;
    cx.delivery.wake();
    Ok(())
}

/// Probes, closes or holds open an integration's circuit breaker.
///
/// # Errors
/// No such integration, or a hold that does not end within 30 days.
pub async fn steer_breaker(actor: &Actor, id: IntegrationId, order: BreakerOrder) -> Result<(), CallError> {
    let cx = context::current()?;
    let mut tx = cx.delivery.pool.begin().await?;
    let before = cx.delivery.integration(actor.scope(), id).await?;
    let after = cx.delivery.steer_breaker(&mut tx, actor.scope(), id, order, &actor.name).await?;
    let entry = Entry::new("integration.breaker").about(id).of_app(after.app_id).changed(&before, &after);
    audit::record(&mut tx, actor, entry).await?;
    tx.commit().await?;
    cx.delivery.wake();
    Ok(())
}

/// Changes how fast and how hard an integration is tried.
///
/// # Errors
/// No such integration, or a value out of range.
pub async fn update_integration(
    actor: &Actor,
    id: IntegrationId,
    changes: IntegrationChanges,
) -> Result<(), CallError> {
    let cx = context::current()?;
    let mut tx = cx.delivery.pool.begin().await?;
    let before = cx.delivery.integration(actor.scope(), id).await?;
    let keeps_window = changes.bundle_window_seconds.is_keep();
    let after = cx.delivery.update_integration(&mut tx, actor.scope(), id, changes).await?;
    let entry = Entry::new("integration.update").about(id).of_app(after.app_id).changed(&before, &after);
    audit::record(&mut tx, actor, entry).await?;
    tx.commit().await?;
    cx.delivery.wake();
    if !keeps_window {
        cx.delivery.hasten_bundle(id).await;
    }
    Ok(())
}

/// Sends an integration its catalog again.
///
/// # Errors
/// No such integration, one of the same scope runs, or it is too soon.
pub async fn start_resync(actor: &Actor, id: IntegrationId, wanted: NewResync) -> Result<(), CallError> {
    let cx = context::current()?;
    let mut tx = cx.delivery.pool.begin().await?;
    let started = cx.delivery.start_resync(&mut tx, actor.scope(), id, wanted, &actor.name).await?;
    let entry = Entry::new("resync.start").about(started.resync_id);
    audit::record(&mut tx, actor, entry).await?;
    tx.commit().await?;
    cx.delivery.wake();
    Ok(())
}

/// Pauses, resumes or cancels a re-sync.
///
/// # Errors
/// No such re-sync, or its state does not allow it.
pub async fn steer_resync(actor: &Actor, id: ResyncId, step: ResyncStep) -> Result<(), CallError> {
    let cx = context::current()?;
    let scope = actor.scope();
    let mut tx = cx.delivery.pool.begin().await?;
    let (action, after) = match step {
        ResyncStep::Pause => ("resync.pause", cx.delivery.pause_resync(&mut tx, scope, id).await?),
        ResyncStep::Resume => ("resync.resume", cx.delivery.resume_resync(&mut tx, scope, id).await?),
        ResyncStep::Cancel => ("resync.cancel", cx.delivery.cancel_resync(&mut tx, scope, id).await?),
    };
    audit::record(&mut tx, actor, Entry::new(action).about(id).of_app(after.app_id)).await?;
    tx.commit().await?;
    cx.delivery.wake();
    Ok(())
}

/// Gives one job all its attempts anew.
///
/// # Errors
/// No such job, or its state does not allow it.
pub async fn requeue_job(actor: &Actor, id: JobId) -> Result<(), CallError> {
    let cx = context::current()?;
    let mut tx = cx.delivery.pool.begin().await?;
    let job = jobs::requeue(&mut tx, actor.scope(), id).await?;
    audit::record(&mut tx, actor, Entry::new("job.requeue").about(id).of_app(job.app_id)).await?;
    tx.commit().await?;
    cx.delivery.wake();
    Ok(())
}

/// Calls one job off. One that is being processed is waited for a moment: the answer tells how it stands by then.
///
/// # Errors
/// No such job, or its state does not allow it.
pub async fn cancel_job(actor: &Actor, id: JobId) -> Result<JobStatus, CallError> {
    let cx = context::current()?;
    let mut tx = cx.delivery.pool.begin().await?;
    let job = jobs::cancel(&mut tx, actor.scope(), id).await?;
    audit::record(&mut tx, actor, Entry::new("job.cancel").about(id).of_app(job.app_id)).await?;
    tx.commit().await?;
    // Another of its serialize key may be first now.
    cx.delivery.wake();
    Ok(jobs::until_let_go(&cx.delivery.pool, actor.scope(), job, jobs::LET_GO_PATIENCE).await.status)
}
