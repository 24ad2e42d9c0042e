//! Reading bulk operations, and deletions of apps and integrations, which are listed with them.

use super::skip_reasons::Reasons;
use crate::store::stored_name::parse_stored;
use chrono::{DateTime, TimeDelta, Utc};
use model::actor::Scope;
use model::filter::JobFilter;
use model::id::{AppId, JobId, OperationId};
use model::operation::{BulkAction, DryRunPart, Operation, OperationState, Skipped};
use model::page::{Page, PageRequest};
use queue::error::QueueError;
use sqlx::{PgExecutor, PgPool, types::Json};
use uuid::Uuid;

/// Rows a second of an operation without a rate, for estimates.
pub(super) const UNLIMITED_RATE: i64 = 5_000;

const UNDO_PERIOD: TimeDelta = TimeDelta::hours(24);

struct Row {
    id: OperationId,
    subject: String,
    action: String,
    filter: Json<JobFilter>,
    named: Option<i64>,
    deleted_name: Option<String>,
    state: String,
    reason: Option<String>,
    requested_by: String,
    matched: i64,
    changed: i64,
    skipped: i64,
    skipped_reasons: Json<Reasons>,
    breakdown: Json<Vec<DryRunPart>>,
    sample: Json<Vec<JobId>>,
    rate_per_second: Option<i32>,
    hold_until: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
    started_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
    undoes: Option<OperationId>,
    undone_by: Option<OperationId>,
    now: DateTime<Utc>,
}

impl TryFrom<Row> for Operation {
    type Error = QueueError;

    fn try_from(row: Row) -> Result<Self, QueueError> {
        let action = parse_stored(&row.action)?;
        let state = parse_stored(&row.state)?;
        let mut skipped_reasons: Vec<Skipped> = row
            .skipped_reasons
            .0
            .iter()
            .map(|(reason, count)| Skipped { reason: *reason, count: *count })
            .collect();
        skipped_reasons.sort_by_key(|skipped| std::cmp::Reverse(skipped.count));
        let undo_until = row.finished_at.unwrap_or(row.now) + UNDO_PERIOD;
        let can_undo = !matches!(action, BulkAction::Undo | BulkAction::Delete)
            && is_undoable(state)
            && row.changed > 0
            && undo_until > row.now;
        let hold = row.hold_until.map_or(0, |until| (until - row.now).num_seconds().max(0));
        let left = (row.matched - row.changed - row.skipped).max(0);
        let is_under_way = matches!(state, OperationState::Held | OperationState::Running);
        Ok(Self {
            id: row.id,
            subject: parse_stored(&row.subject)?,
            action,
            filter: JobFilter { masked_names: None, ..row.filter.0 },
            named: row.named,
            deleted_name: row.deleted_name,
            state,
            reason: row.reason,
            requested_by: row.requested_by,
            matched: row.matched,
            changed: row.changed,
            skipped: row.skipped,
            skipped_reasons,
            breakdown: row.breakdown.0,
            sample: row.sample.0,
            rate_per_second: row.rate_per_second,
            eta_seconds: is_under_way.then(|| hold + seconds_for(left, row.rate_per_second)),
            undoes: row.undoes,
            undone_by: row.undone_by,
            undo_until: can_undo.then_some(undo_until),
            hold_until: row.hold_until,
            created_at: row.created_at,
            started_at: row.started_at,
            finished_at: row.finished_at,
        })
    }
}

/// Whether an operation in that state can be undone, if it changed something.
const fn is_undoable(state: OperationState) -> bool {
    matches!(
        state,
        OperationState::Running | OperationState::Paused | OperationState::Done | OperationState::Aborted
    )
}

pub(super) fn seconds_for(rows: i64, rate_per_second: Option<i32>) -> i64 {
    let rate = rate_per_second.map_or(UNLIMITED_RATE, i64::from).max(1);
    (rows + rate - 1) / rate
}

/// One operation.
///
/// # Errors
/// `NotFound` when the scope has none of that id.
pub async fn get(
    executor: impl PgExecutor<'_>,
    scope: Scope,
    id: OperationId,
) -> Result<Operation, QueueError> {
    let rows = rows(executor, scope, Some(id), None, 1).await?;
    rows.into_iter().next().ok_or(QueueError::NotFound)
}

/// Operations, newest first. Deletions are listed only in the scope of all apps.
pub async fn list(pool: &PgPool, scope: Scope, page: PageRequest) -> Result<Page<Operation>, QueueError> {
    let operations = rows(pool, scope, None, page.after, page.limit + 1).await?;
    Ok(Page::from_surplus(operations, page.limit, |operation| operation.id.0))
}

async fn rows(
    executor: impl PgExecutor<'_>,
    scope: Scope,
    one: Option<OperationId>,
    after: Option<Uuid>,
    limit: i64,
) -> Result<Vec<Operation>, QueueError> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        select id as "id!: OperationId", subject as "subject!", action as "action!", filter as "filter!: Json<JobFilter>", named, deleted_name,
            state as "state!", reason, requested_by as "requested_by!", matched as "matched!", changed as "changed!", skipped as "skipped!",
            skipped_reasons as "skipped_reasons!: Json<Reasons>", breakdown as "breakdown!: Json<Vec<DryRunPart>>",
            sample as "sample!: Json<Vec<JobId>>", rate_per_second, hold_until, created_at as "created_at!", started_at, finished_at,
            undoes as "undoes: OperationId", undone_by as "undone_by: OperationId", clock_timestamp() as "now!"
        from (
            (
                select o.id, o.subject, o.action, o.filter, cardinality(o.ids)::bigint as named, null::text as deleted_name, o.state, o.reason,
                    o.requested_by, o.matched, o.changed, o.skipped, o.skipped_reasons, o.breakdown, o.sample, o.rate_per_second,
                    o.hold_until, o.created_at, o.started_at, o.finished_at, o.undoes, u.id as undone_by
                from headgate.operations o
                left join headgate.operations u on u.undoes = o.id
                where ($1::uuid is null or o.app_id = $1) and ($2::uuid is null or o.id = $2) and ($3::uuid is null or o.id < $3)
                order by o.id desc
                limit $4
            )
            union all
            (
                select id, case when integration_id is null then 'app' else 'integration' end, 'delete',
                    case when integration_id is null then jsonb_build_object('app_id', app_id)
                    else jsonb_build_object('integration_id', integration_id) end,
                    null, name, case when finished_at is null then 'running' else 'done' end, null, requested_by,
                    case when finished_at is null then greatest(matched, deleted) else deleted end, deleted, 0, '{}', '[]', '[]', null,
                    null, created_at, created_at, finished_at, null, null
                from headgate.deletions
                where $1::uuid is null and ($2::uuid is null or id = $2) and ($3::uuid is null or id < $3)
                order by id desc
                limit $4
            )
        ) o
        order by id desc
        limit $4
        "#,
        scope.app_id() as Option<AppId>,
        one as Option<OperationId>,
        after,
        limit,
    )
    .fetch_all(executor)
    .await?;
    rows.into_iter().map(Operation::try_from).collect()
}
