//! Reads re-syncs.

use chrono::{DateTime, Utc};
use model::actor::Scope;
use model::id::{AppId, BatchId, IntegrationId, ResyncId};
use model::page::{Page, PageRequest};
use model::resync::{Resync, ResyncState};
use sqlx::{PgExecutor, PgPool};

use super::not_found;
use crate::{DeliveryError, store::integrations::parse_stored};

struct ResyncRow {
    id: ResyncId,
    app_id: AppId,
    integration_id: IntegrationId,
    batch_id: BatchId,
    record_type: Option<String>,
    mode: String,
    state: String,
    total: i64,
    done: i64,
    failed: i64,
    cancelled: i64,
    is_enumerated: bool,
    requested_by: String,
    created_at: DateTime<Utc>,
    started_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
}

impl TryFrom<ResyncRow> for Resync {
    type Error = sqlx::Error;
    fn try_from(row: ResyncRow) -> Result<Self, sqlx::Error> {
        let state = parse_stored(&row.state)?;
        Ok(Self {
            id: row.id,
            app_id: row.app_id,
            integration_id: row.integration_id,
            batch_id: row.batch_id,
            mode: parse_stored(&row.mode)?,
            state,
            total: row.total,
            done: row.done,
            failed: row.failed,
            eta_seconds: (state == ResyncState::Running).then(|| eta_seconds(&row)).flatten(),
            record_type: row.record_type,
            requested_by: row.requested_by,
            created_at: row.created_at,
            started_at: row.started_at,
            finished_at: row.finished_at,
        })
    }
}

/// At the pace so far; none while the catalog is still being read or no job has ended.
fn eta_seconds(row: &ResyncRow) -> Option<i64> {
    let ended = row.done + row.failed + row.cancelled;
    let left = row.total - ended;
    let elapsed_ms = (row.now - row.started_at?).num_milliseconds();
    if !row.is_enumerated || ended <= 0 || elapsed_ms < 1_000 {
        return None;
    }
    let seconds = elapsed_ms as f64 / 1_000.0 * left.max(0) as f64 / ended as f64;
    Some(seconds.ceil() as i64)
}

pub(crate) async fn get(
    db: impl PgExecutor<'_>,
    scope: Scope,
    id: ResyncId,
) -> Result<Resync, DeliveryError> {
    let row = sqlx::query_as!(
        ResyncRow,
        r#"
        select r.id as "id: ResyncId", r.app_id as "app_id: AppId", r.integration_id as "integration_id: IntegrationId",
            r.batch_id as "batch_id: BatchId", r.record_type, r.mode, r.state, b.total + coalesce(d.total, 0) as "total!",
            b.succeeded + coalesce(d.succeeded, 0) as "done!", b.failed + coalesce(d.failed, 0) as "failed!",
            b.cancelled + coalesce(d.cancelled, 0) as "cancelled!", r.is_enumerated, r.requested_by, r.created_at, r.started_at,
            r.finished_at, clock_timestamp() as "now!"
        from headgate.resyncs r
        join headgate.batches b on b.id = r.batch_id
        cross join lateral (
            select sum(total) as total, sum(succeeded) as succeeded, sum(failed) as failed, sum(cancelled) as cancelled
            from headgate.batch_deltas where batch_id = r.batch_id
        ) d
        where r.id = $1 and ($2::uuid is null or r.app_id = $2)
        "#,
        id as ResyncId,
        scope.app_id() as Option<AppId>,
    )
    .fetch_optional(db)
    .await?
    .ok_or_else(not_found)?;
    Ok(row.try_into()?)
}

pub(crate) async fn list(
    pool: &PgPool,
    scope: Scope,
    integration_id: Option<IntegrationId>,
    page: PageRequest,
) -> Result<Page<Resync>, DeliveryError> {
    let rows = sqlx::query_as!(
        ResyncRow,
        r#"
        select r.id as "id: ResyncId", r.app_id as "app_id: AppId", r.integration_id as "integration_id: IntegrationId",
            r.batch_id as "batch_id: BatchId", r.record_type, r.mode, r.state, b.total + coalesce(d.total, 0) as "total!",
            b.succeeded + coalesce(d.succeeded, 0) as "done!", b.failed + coalesce(d.failed, 0) as "failed!",
            b.cancelled + coalesce(d.cancelled, 0) as "cancelled!", r.is_enumerated, r.requested_by, r.created_at, r.started_at,
            r.finished_at, clock_timestamp() as "now!"
        from headgate.resyncs r
        join headgate.batches b on b.id = r.batch_id
        cross join lateral (
            select sum(total) as total, sum(succeeded) as succeeded, sum(failed) as failed, sum(cancelled) as cancelled
            from headgate.batch_deltas where batch_id = r.batch_id
        ) d
        where ($1::uuid is null or r.app_id = $1) and ($2::uuid is null or r.integration_id = $2) and ($3::uuid is null or r.id < $3)
        order by r.id desc limit $4
        "#,
        scope.app_id() as Option<AppId>,
        integration_id as Option<IntegrationId>,
        page.after,
        page.limit + 1,
    )
    .fetch_all(pool)
    .await?;
    let resyncs: Vec<Resync> = rows.into_iter().map(Resync::try_from).collect::<Result<_, _>>()?;
    Ok(Page::from_surplus(resyncs, page.limit, |resync| resync.id.0))
}

/// A re-sync on which the leader works.
pub(crate) struct Unfinished {
    pub(crate) id: ResyncId,
    pub(crate) batch_id: BatchId,
    pub(crate) state: ResyncState,
}

/// Oldest first.
pub(crate) async fn unfinished(pool: &PgPool) -> Result<Vec<Unfinished>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        select id as "id: ResyncId", batch_id as "batch_id: BatchId", state from headgate.resyncs
        where finished_at is null or is_cancelling
        order by id
        "#,
    )
    .fetch_all(pool)
    .await?;
    rows.into_iter()
        .map(|row| Ok(Unfinished { id: row.id, batch_id: row.batch_id, state: parse_stored(&row.state)? }))
        .collect()
}
