//! The state of a re-sync, and its jobs when it is cancelled.

use model::actor::Scope;
use model::id::{AppId, IntegrationId, JobId, ResyncId};
use model::resync::ResyncState;
use queue::QueueError;
use sqlx::PgConnection;

use super::not_found;
use crate::{DeliveryError, store::integrations::parse_stored};

/// Completes a re-sync once the whole catalog is read and every job has ended; also a paused one.
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

/// Locks a re-sync whose state is to be changed.
pub(crate) async fn lock(
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
    Ok(parse_stored(&state)?)
}

/// Sets the state, and whether the batch is paused. The batch of a cancelled re-sync is paused until all its jobs are cancelled: none of
/// them begins meanwhile, and parked ones stay parked.
pub(crate) async fn set_state(
    conn: &mut PgConnection,
    id: ResyncId,
    state: ResyncState,
) -> Result<(), DeliveryError> {
    let is_cancelled = state == ResyncState::Cancelled;
    sqlx::query!(
        r#"
        with updated as (
            update headgate.resyncs
            set state = $2, finished_at = case when $3 then clock_timestamp() end, is_cancelling = $3
            where id = $1
            returning batch_id
        )
        update headgate.batches b set is_paused = $4 from updated u where b.id = u.batch_id
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

/// Takes the successors of jobs that are being processed out of a cancelled re-sync: such a change may include a live one, so it is sent,
/// but not for the re-sync. Call it before the first portion is cancelled: afterwards no new successor joins the batch, and one that becomes
/// a job of its own meanwhile is found among the waiting jobs.
pub(crate) async fn detach_successors(conn: &mut PgConnection, id: ResyncId) -> Result<(), DeliveryError> {
    sqlx::query!(
        r#"
        with locked as materialized (
            select j.id, r.batch_id
            from headgate.resyncs r
            join headgate.jobs j on j.integration_id = r.integration_id
            where r.id = $1 and j.successor is not null and (j.successor ->> 'batch_id')::uuid = r.batch_id
            order by j.deduplication_id collate "C", j.id
            for update of j
        ), detached as (
            update headgate.jobs j set successor = j.successor || '{"batch_id": null}'::jsonb from locked l where j.id = l.id
        )
        insert into headgate.batch_deltas (batch_id, cancelled)
        select batch_id, count(*) from locked group by batch_id
        "#,
        id as ResyncId,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Marks the cancellation of a re-sync as finished once none of its jobs is live: one that is being processed may fail and wait for another
/// attempt, which has to be cancelled too.
pub(crate) async fn finish_cancelling(conn: &mut PgConnection, id: ResyncId) -> Result<(), DeliveryError> {
    sqlx::query!(
        r#"
        with done as (
            update headgate.resyncs r set is_cancelling = false
            where r.id = $1 and r.is_cancelling
                -- Not `exists`: the planner may turn that into a join that reads all jobs.
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

/// A cancelled job into which a live change had been folded.
pub(crate) struct ChangedJob {
    pub(crate) app_id: AppId,
    pub(crate) integration_id: IntegrationId,
    pub(crate) record_type: String,
    pub(crate) record_id: String,
    pub(crate) timeout_ms: Option<i32>,
    pub(crate) max_attempts: Option<i16>,
}

/// Those of the jobs just cancelled that included a live change.
pub(crate) async fn live_changes_among(
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
