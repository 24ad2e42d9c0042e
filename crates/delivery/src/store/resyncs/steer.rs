//! A re-sync's state, and what becomes of its jobs when it is called off.

use model::{
    actor::Scope,
    id::{AppId, IntegrationId, JobId, ResyncId},
    resync::ResyncState,
};
use queue::QueueError;
use sqlx::PgConnection;

use super::not_found;
use crate::{DeliveryError, store::integrations::known};

/// Ends a re-sync once the catalog was read to its end and every job has come to its own: also a paused one, of which nothing is left to
/// be held.
pub(crate) async fn complete_if_done(conn: &mut PgConnection, id: ResyncId) -> Result<(), DeliveryError> {
    sqlx::query!(
        r#"
        with ended as (
            update headgate.resyncs r
            set state = 'completed', finished_at = clock_timestamp()
            from headgate.batches b
            cross join lateral (
                select coalesce(sum(total), 0) as total, coalesce(sum(succeeded + failed + cancelled), 0) as ended
                from headgate.batch_deltas where batch_id = b.id
            ) d
            where r.id = $1 and r.state in ('running', 'paused') and r.is_enumerated and b.id = r.batch_id
                and b.total + d.total <= b.succeeded + b.failed + b.cancelled + d.ended
            returning r.batch_id
        )
        update headgate.batches b set completed_at = clock_timestamp(), is_paused = false from ended e where b.id = e.batch_id
        "#,
        id as ResyncId,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Holds a re-sync that is to be steered.
pub(crate) async fn hold(
    conn: &mut PgConnection,
    scope: Scope,
    id: ResyncId,
) -> Result<ResyncState, DeliveryError> {
    let state = sqlx::query_scalar!(
        "select state from headgate.resyncs where id = $1 and ($2::uuid is null or app_id = $2) for no key update",
        id as ResyncId,
        scope.app_id() as Option<AppId>,
    )
    .fetch_optional(conn)
    .await?
    .ok_or_else(not_found)?;
    Ok(known(&state)?)
}

/// The batch says the same. One that is called off is paused until nothing is left to call off: nothing of it begins meanwhile, and what it
/// holds is not let go.
pub(crate) async fn set_state(
    conn: &mut PgConnection,
    id: ResyncId,
    state: ResyncState,
) -> Result<(), DeliveryError> {
    let is_cancelled = state == ResyncState::Cancelled;
    sqlx::query!(
        r#"
        with steered as (
            update headgate.resyncs
            set state = $2, finished_at = case when $3 then clock_timestamp() end, is_calling_off = $3
            where id = $1
            returning batch_id
        )
        update headgate.batches b set is_paused = $4 from steered s where b.id = s.batch_id
        "#,
        id as ResyncId,
        state.as_str(),
        is_cancelled,
        state != ResyncState::Running,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes what stands behind a job that is being processed out of a cancelled re-sync: such a change may stand for a live one too, so it is
/// sent, but no longer for the re-sync. Before the first portion is called off: afterwards none comes about, and one that takes its
/// place in the queue meanwhile is found waiting.
pub(crate) async fn release_successors(conn: &mut PgConnection, id: ResyncId) -> Result<(), DeliveryError> {
    sqlx::query!(
        r#"
        with held as materialized (
            select j.id, r.batch_id
            from headgate.resyncs r
            join headgate.jobs j on j.integration_id = r.integration_id
            where r.id = $1 and j.successor is not null and (j.successor ->> 'batch_id')::uuid = r.batch_id
            order by j.deduplication_id collate "C", j.id
            for update of j
        ), released as (
            update headgate.jobs j set successor = j.successor || '{"batch_id": null}'::jsonb from held h where j.id = h.id
        )
        insert into headgate.batch_deltas (batch_id, cancelled)
        select batch_id, count(*) from held group by batch_id
        "#,
        id as ResyncId,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Says that nothing is left to call off of a cancelled re-sync, when none of its jobs is live any more: one that is being processed may fail
/// and wait for another attempt.
pub(crate) async fn called_off(conn: &mut PgConnection, id: ResyncId) -> Result<(), DeliveryError> {
    sqlx::query!(
        r#"
        with done as (
            update headgate.resyncs r set is_calling_off = false
            where r.id = $1 and r.is_calling_off
                -- Not `exists`, of which the planner may make a join that reads all jobs.
                and (select j.id from headgate.jobs j where j.batch_id = r.batch_id limit 1) is null
            returning r.batch_id
        )
        update headgate.batches b set completed_at = clock_timestamp(), is_paused = false from done d where b.id = d.batch_id
        "#,
        id as ResyncId,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A job that was called off although a live change had been folded into it.
pub(crate) struct ChangedJob {
    pub(crate) app_id: AppId,
    pub(crate) integration_id: IntegrationId,
    pub(crate) record_type: String,
    pub(crate) record_id: String,
    pub(crate) timeout_ms: Option<i32>,
    pub(crate) max_attempts: Option<i16>,
}

/// Of the jobs just called off, those that stood for more than the re-sync.
pub(crate) async fn changed_among(
    conn: &mut PgConnection,
    ids: &[JobId],
) -> Result<Vec<ChangedJob>, QueueError> {
    let changed = sqlx::query_as!(
        ChangedJob,
        r#"
        select f.app_id as "app_id: AppId", f.integration_id as "integration_id: IntegrationId", f.record_type as "record_type!",
            f.record_id as "record_id!", i.timeout_ms, i.max_attempts
        from headgate.finished_jobs f
        join headgate.integrations i on i.id = f.integration_id
        where f.id = any ($1) and f.finished_at > clock_timestamp() - interval '1 hour' and f.folded > 0
            and f.record_type is not null and f.record_id is not null
        "#,
        ids as &[JobId],
    )
    .fetch_all(conn)
    .await?;
    Ok(changed)
}
