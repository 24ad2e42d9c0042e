//! Re-syncs and their progress. The counts are those of the batch, unfolded deltas included.

use std::time::Duration;

use chrono::{DateTime, Utc};
use model::{
    actor::Scope,
    id::{AppId, BatchId, IntegrationId, JobId, ResyncId},
    page::{Page, PageRequest},
    resync::{Resync, ResyncMode, ResyncState},
};
use sqlx::{PgConnection, PgExecutor, PgPool};

use super::integrations::known;
use crate::DeliveryError;

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
        let state = known(&row.state)?;
        Ok(Self {
            id: row.id,
            app_id: row.app_id,
            integration_id: row.integration_id,
            batch_id: row.batch_id,
            mode: known(&row.mode)?,
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

/// At the pace so far; none while the catalog is still being read or nothing has come to its end.
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

/// What a re-sync covers: a type, and ids of it.
type Covered<'a> = (Option<&'a str>, Option<&'a [String]>);

pub(crate) async fn is_running(
    conn: &mut PgConnection,
    integration_id: IntegrationId,
    covered: Covered<'_>,
) -> Result<bool, DeliveryError> {
    let is_running = sqlx::query_scalar!(
        r#"
        select exists (
            select from headgate.resyncs
            where integration_id = $1 and finished_at is null and record_type is not distinct from $2
                and record_ids is not distinct from $3
        ) as "is_running!"
        "#,
        integration_id as IntegrationId,
        covered.0,
        covered.1,
    )
    .fetch_one(conn)
    .await?;
    Ok(is_running)
}

/// What is left of the wait after the last re-sync of the same; none when it may begin.
pub(crate) async fn cool_down_left(
    conn: &mut PgConnection,
    integration_id: IntegrationId,
    covered: Covered<'_>,
    cool_down: Duration,
) -> Result<Option<Duration>, DeliveryError> {
    let left = sqlx::query_scalar!(
        r#"
        select $4::float8 - extract(epoch from clock_timestamp() - max(finished_at))::float8 as left_seconds
        from headgate.resyncs
        where integration_id = $1 and finished_at is not null and record_type is not distinct from $2
            and record_ids is not distinct from $3
        "#,
        integration_id as IntegrationId,
        covered.0,
        covered.1,
        cool_down.as_secs_f64(),
    )
    .fetch_one(conn)
    .await?;
    Ok(left.filter(|left| *left > 0.0).and_then(|left| Duration::try_from_secs_f64(left.ceil()).ok()))
}

/// A re-sync to be made.
pub(crate) struct NewRow<'a> {
    pub(crate) id: ResyncId,
    pub(crate) batch_id: BatchId,
    pub(crate) app_id: AppId,
    pub(crate) integration_id: IntegrationId,
    pub(crate) record_type: Option<&'a str>,
    pub(crate) record_ids: Option<&'a [String]>,
    pub(crate) mode: ResyncMode,
    pub(crate) requested_by: &'a str,
}

/// Makes the re-sync and its batch, which is sealed from the start: nobody else adds items.
pub(crate) async fn insert(conn: &mut PgConnection, new: &NewRow<'_>) -> Result<(), DeliveryError> {
    sqlx::query!(
        r#"
        insert into headgate.batches (id, app_id, integration_id, job_type, is_sealed)
        values ($1, $2, $3, 'resync', true)
        "#,
        new.batch_id as BatchId,
        new.app_id as AppId,
        new.integration_id as IntegrationId,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        r#"
        insert into headgate.resyncs (id, app_id, integration_id, batch_id, record_type, record_ids, mode, requested_by)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
        "#,
        new.id as ResyncId,
        new.app_id as AppId,
        new.integration_id as IntegrationId,
        new.batch_id as BatchId,
        new.record_type,
        new.record_ids,
        new.mode.as_str(),
        new.requested_by,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A running re-sync whose catalog is not read to its end.
pub(crate) struct Enumeration {
    pub(crate) id: ResyncId,
    pub(crate) app_id: AppId,
    pub(crate) integration_id: IntegrationId,
    pub(crate) batch_id: BatchId,
    pub(crate) mode: ResyncMode,
    pub(crate) timeout_ms: Option<i32>,
    pub(crate) max_attempts: Option<i16>,
    pub(crate) cursor: Option<(String, String)>,
    record_ids: Option<Vec<String>>,
    /// Sorted; none: all there are.
    types: Option<Vec<String>>,
}

impl Enumeration {
    /// The type to read at the cursor: `Some(None)` reads across all types, none when there is nothing to read.
    #[expect(clippy::option_option, reason = "three answers: this type, all types, nothing")]
    pub(crate) fn type_at(&self, cursor: Option<&(String, String)>) -> Option<Option<String>> {
        let Some(types) = &self.types else { return Some(None) };
        match cursor {
            Some((kind, _)) => Some(Some(kind.clone())),
            None => types.first().cloned().map(Some),
        }
    }

    pub(crate) fn type_after(&self, kind: &str) -> Option<String> {
        self.types.as_ref()?.iter().find(|next| next.as_str() > kind).cloned()
    }
}

/// Holds a re-sync that is to be read on, and its integration against deletion.
pub(crate) async fn hold_running(
    conn: &mut PgConnection,
    id: ResyncId,
) -> Result<Option<Enumeration>, DeliveryError> {
    let row = sqlx::query!(
        r#"
        select r.app_id as "app_id: AppId", r.integration_id as "integration_id: IntegrationId", r.batch_id as "batch_id: BatchId",
            r.mode, r.record_type, r.record_ids, r.cursor_type, r.cursor_id, i.record_types, i.timeout_ms, i.max_attempts
        from headgate.resyncs r
        join headgate.integrations i on i.id = r.integration_id
        where r.id = $1 and r.state = 'running' and not r.is_enumerated and i.state <> 'disabled'
        for key share of i
        for no key update of r
        "#,
        id as ResyncId,
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let mut types = row.record_type.map(|kind| vec![kind]).or(row.record_types);
    if let Some(types) = &mut types {
        types.sort();
        types.dedup();
    }
    Ok(Some(Enumeration {
        id,
        app_id: row.app_id,
        integration_id: row.integration_id,
        batch_id: row.batch_id,
        mode: known(&row.mode)?,
        timeout_ms: row.timeout_ms,
        max_attempts: row.max_attempts,
        cursor: row.cursor_type.zip(row.cursor_id),
        record_ids: row.record_ids,
        types,
    }))
}

/// A record that was read, and whether it is to be sent.
pub(crate) struct Candidate {
    pub(crate) record_type: String,
    pub(crate) record_id: String,
    pub(crate) is_wanted: bool,
}

/// Reads keys after the cursor. Wanted are records that live (in the mode `changed` only those of which the integration does not surely have
/// the newest version), and deleted ones the integration may still have.
pub(crate) async fn scan(
    conn: &mut PgConnection,
    resync: &Enumeration,
    record_type: Option<&str>,
    cursor: Option<&(String, String)>,
    most: i64,
) -> Result<Vec<Candidate>, DeliveryError> {
    let (after_type, after_id) = cursor.map_or(("", ""), |(kind, id)| (kind.as_str(), id.as_str()));
    let candidates = sqlx::query_as!(
        Candidate,
        r#"
        with scanned as materialized (
            select record_type, record_id, version, deleted_at from headgate.records
            where app_id = $1 and ($2::text is null or record_type = $2) and ($3::text[] is null or record_id = any ($3))
                and (record_type, record_id) > ($4, $5)
            order by record_type, record_id
            limit $6
        )
        select r.record_type as "record_type!", r.record_id as "record_id!",
            case
                when r.deleted_at is not null then s.integration_id is not null or u.integration_id is not null
                else $8 or s.version is distinct from r.version or u.integration_id is not null
            end as "is_wanted!"
        from scanned r
        left join headgate.sent_records s on s.integration_id = $7 and s.record_type = r.record_type and s.record_id = r.record_id
        left join headgate.unsure_records u on u.integration_id = $7 and u.record_type = r.record_type and u.record_id = r.record_id
        order by r.record_type, r.record_id
        "#,
        resync.app_id as AppId,
        record_type,
        resync.record_ids.as_deref(),
        after_type,
        after_id,
        most,
        resync.integration_id as IntegrationId,
        resync.mode == ResyncMode::Full,
    )
    .fetch_all(conn)
    .await?;
    Ok(candidates)
}

pub(crate) async fn move_on(
    conn: &mut PgConnection,
    id: ResyncId,
    cursor: Option<&(String, String)>,
    is_enumerated: bool,
) -> Result<(), DeliveryError> {
    sqlx::query!(
        r#"
        update headgate.resyncs
        set cursor_type = $2, cursor_id = $3, is_enumerated = $4, started_at = coalesce(started_at, clock_timestamp())
        where id = $1
        "#,
        id as ResyncId,
        cursor.map(|cursor| cursor.0.as_str()),
        cursor.map(|cursor| cursor.1.as_str()),
        is_enumerated,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Ends a running re-sync once the catalog was read to its end and every job has come to its own.
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
            where r.id = $1 and r.state = 'running' and r.is_enumerated and b.id = r.batch_id
                and b.total + d.total <= b.succeeded + b.failed + b.cancelled + d.ended
            returning r.batch_id
        )
        update headgate.batches b set completed_at = clock_timestamp() from ended e where b.id = e.batch_id
        "#,
        id as ResyncId,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Re-syncs that need the leader, oldest first.
pub(crate) async fn unfinished(pool: &PgPool) -> Result<Vec<(ResyncId, ResyncState)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        select id as "id: ResyncId", state from headgate.resyncs
        where (finished_at is null or is_calling_off) and state <> 'paused'
        order by id
        "#,
    )
    .fetch_all(pool)
    .await?;
    rows.into_iter().map(|row| Ok((row.id, known(&row.state)?))).collect()
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

pub(crate) async fn set_state(
    conn: &mut PgConnection,
    id: ResyncId,
    state: ResyncState,
) -> Result<(), DeliveryError> {
    let is_cancelled = state == ResyncState::Cancelled;
    sqlx::query!(
        r#"
        update headgate.resyncs
        set state = $2, finished_at = case when $3 then clock_timestamp() end, is_calling_off = $3
        where id = $1
        "#,
        id as ResyncId,
        state.as_str(),
        is_cancelled,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Holds a cancelled re-sync whose jobs are still to be called off.
pub(crate) async fn batch_to_call_off(
    conn: &mut PgConnection,
    id: ResyncId,
) -> Result<Option<BatchId>, DeliveryError> {
    let batch_id = sqlx::query_scalar!(
        r#"
        select batch_id as "batch_id: BatchId" from headgate.resyncs
        where id = $1 and is_calling_off
        for no key update
        "#,
        id as ResyncId,
    )
    .fetch_optional(conn)
    .await?;
    Ok(batch_id)
}

/// Nothing is left to call off.
pub(crate) async fn called_off(conn: &mut PgConnection, id: ResyncId) -> Result<(), DeliveryError> {
    sqlx::query!(
        r#"
        with done as (update headgate.resyncs set is_calling_off = false where id = $1 returning batch_id)
        update headgate.batches b set completed_at = clock_timestamp() from done d where b.id = d.batch_id
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
) -> Result<Vec<ChangedJob>, DeliveryError> {
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

fn not_found() -> DeliveryError {
    DeliveryError::not_found("resync")
}
