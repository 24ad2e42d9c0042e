//! Reading groups.

use chrono::{DateTime, Utc};
use model::actor::Scope;
use model::failure::{
    AffectedIntegration, CauseId, FailureDetail, FailureFilter, FailureGroup, FailureMarks, FailureNote,
    FailureState, FailureTrend, MAX_COUNTED_GROUPS,
};
use model::id::{AppId, IntegrationId};
use model::page::{Page, PageRequest};
use model::rules::verdict::ErrorKind;
use queue::error::QueueError;
use sqlx::{PgExecutor, PgPool, Postgres, QueryBuilder};
use std::collections::HashMap;
use uuid::Uuid;

/// Integrations counted of a group.
const MAX_COUNTED: i64 = 1_000;
/// The trend's steps have the length in which they are stored, and cover twelve hours.
const STEP_SECONDS: i32 = 15 * 60;
const STEPS: usize = 48;
/// Integrations listed of a group.
const MAX_AFFECTED: i64 = 100;

#[derive(sqlx::FromRow)]
struct Row {
    cause: String,
    waiting: i64,
    dead: i64,
    failed: i64,
    first_at: DateTime<Utc>,
    last_at: DateTime<Utc>,
    error_kind: String,
    error_message: String,
    response_status: Option<i16>,
    snoozed_until: Option<DateTime<Utc>>,
    fixed_at: Option<DateTime<Utc>>,
    /// Of the whole group, whatever the share: its state depends on it.
    failed_last_at: DateTime<Utc>,
    weight: i64,
    now: DateTime<Utc>,
}

impl Row {
    fn cause(&self) -> CauseId {
        // The fold keeps no others.
        self.cause.parse().unwrap_or(CauseId(0))
    }

    /// Lists are ordered by weight, then cause.
    fn cursor(&self) -> Uuid {
        Uuid::from_u64_pair(u64::try_from(self.weight).unwrap_or_default(), self.cause().0)
    }

    fn group(self, related: Related) -> FailureGroup {
        let Related { integrations, apps, trend } = related;
        let marks = FailureMarks { snoozed_until: self.snoozed_until, fixed_at: self.fixed_at };
        let state = marks.state(self.waiting + self.dead, self.failed_last_at, self.now);
        FailureGroup {
            fingerprint: self.cause(),
            state,
            error_kind: self.error_kind.parse().unwrap_or(ErrorKind::Retryable),
            error: self.error_message,
            response_status: self.response_status,
            // A delta that subtracts may be folded a moment before the one that added.
            to_be_retried: self.waiting.max(0),
            dead_letters: self.dead.max(0),
            failed_attempts: self.failed,
            integrations,
            apps,
            first_at: self.first_at,
            last_at: self.last_at,
            trend,
            snoozed_until: self.snoozed_until.filter(|_| state == FailureState::Snoozed),
            fixed_at: self.fixed_at,
        }
    }
}

/// The part of a group that is read: by the reader's scope and the filter.
#[derive(Clone, Copy)]
struct Share {
    scope: Scope,
    app_id: Option<AppId>,
    integration_id: Option<IntegrationId>,
}

impl Share {
    fn of(scope: Scope, filter: &FailureFilter) -> Self {
        Self { scope, app_id: filter.app_id, integration_id: filter.integration_id }
    }

    fn is_all(self) -> bool {
        self.scope.app_id().is_none() && self.app_id.is_none() && self.integration_id.is_none()
    }

    /// Appends ` and …` for rows `i` of `integrations`.
    fn push(self, sql: &mut QueryBuilder<Postgres>) {
        for app_id in [self.scope.app_id(), self.app_id].into_iter().flatten() {
            sql.push(" and i.app_id = ").push_bind(app_id);
        }
        if let Some(id) = self.integration_id {
            sql.push(" and i.id = ").push_bind(id);
        }
    }
}

/// The counts of integrations, integration after integration: as a plain join the planner would read the counts of all.
const OWN: &str = "headgate.integrations i cross join lateral \
     (select * from headgate.failure_counts o where o.integration_id = i.id offset 0) c where true";
/// The same, cause after cause.
pub(super) const OWN_BY_CAUSE: &str = "headgate.failure_counts c cross join lateral \
     (select * from headgate.integrations o where o.id = c.integration_id offset 0) i where true";

/// What is read in addition to a group's row, for the rows of the page only.
struct Related {
    integrations: i64,
    apps: i64,
    trend: FailureTrend,
}

/// Groups, those with most jobs first; when those that are over are listed, the last failed first.
pub async fn list(
    pool: &PgPool,
    scope: Scope,
    filter: &FailureFilter,
    page: PageRequest,
) -> Result<Page<FailureGroup>, QueueError> {
    let share = Share::of(scope, filter);
    let mut sql = QueryBuilder::new("select g.*, clock_timestamp() as now from (");
    push_groups(&mut sql, share, filter.state, None);
    sql.push(") g where true");
    if let Some(after) = page.after {
        let (weight, cause) = after.as_u64_pair();
        sql.push(" and (g.weight, g.cause) < (").push_bind(i64::try_from(weight).unwrap_or(i64::MAX));
        sql.push(", ").push_bind(CauseId(cause).to_string()).push(")");
    }
    sql.push(format_args!(" order by g.weight desc, g.cause desc limit {}", page.limit + 1));
    let rows: Vec<Row> = sql.build_query_as().fetch_all(pool).await?;
    let page = Page::from_surplus(rows, page.limit, Row::cursor);
    let next_cursor = page.next_cursor;
    Ok(Page { items: with_related(pool, share, page.items).await?, next_cursor })
}

/// One group, or the share of it that an app or an integration has.
///
/// # Errors
/// [`QueueError::NotFound`] when there is none in scope.
pub async fn get(
    pool: &PgPool,
    scope: Scope,
    filter: &FailureFilter,
    cause: CauseId,
) -> Result<FailureGroup, QueueError> {
    let share = Share::of(scope, filter);
    let mut sql = QueryBuilder::new("select g.*, clock_timestamp() as now from (");
    push_groups(&mut sql, share, None, Some(cause));
    sql.push(") g");
    let rows: Vec<Row> = sql.build_query_as().fetch_all(pool).await?;
    with_related(pool, share, rows).await?.into_iter().next().ok_or(QueueError::NotFound)
}

/// One group with its description, and the integrations affected.
///
/// # Errors
/// [`QueueError::NotFound`] when there is none in scope.
pub async fn detail(
    pool: &PgPool,
    scope: Scope,
    filter: &FailureFilter,
    cause: CauseId,
) -> Result<FailureDetail, QueueError> {
    let group = get(pool, scope, filter, cause).await?;
    let affected = affected(pool, scope, filter, cause).await?;
    let words = group.words();
    Ok(FailureDetail { cause: words.cause.to_owned(), remedy: words.remedy.to_owned(), group, affected })
}

/// How many groups are open; at most 1,000 are counted.
pub async fn count_open(
    executor: impl PgExecutor<'_>,
    scope: Scope,
    filter: &FailureFilter,
) -> Result<i64, QueueError> {
    let mut sql = QueryBuilder::new("select count(*) from (select from (");
    push_groups(&mut sql, Share::of(scope, filter), Some(FailureState::Open), None);
    sql.push(format_args!(") g limit {MAX_COUNTED_GROUPS}) found"));
    Ok(sql.build_query_scalar().fetch_one(executor).await?)
}

/// The integrations that have jobs of a group or a note on it, those with most jobs first.
pub async fn affected(
    pool: &PgPool,
    scope: Scope,
    filter: &FailureFilter,
    cause: CauseId,
) -> Result<Vec<AffectedIntegration>, QueueError> {
    #[derive(sqlx::FromRow)]
    struct Affected {
        integration_id: IntegrationId,
        name: String,
        app_id: AppId,
        app_name: String,
        fingerprint: String,
        waiting: i64,
        dead: i64,
        first_at: DateTime<Utc>,
        last_at: DateTime<Utc>,
        note: Option<String>,
        noted_at: Option<DateTime<Utc>>,
    }
    let mut sql = QueryBuilder::new(
        "select i.id as integration_id, i.name, i.app_id, a.name as app_name, c.fingerprint, c.waiting, c.dead, c.first_at, c.last_at, \
         c.note, c.noted_at from headgate.failure_counts c join headgate.integrations i on i.id = c.integration_id \
         join headgate.apps a on a.id = i.app_id where (c.waiting + c.dead > 0 or c.note is not null) and c.cause = ",
    );
    sql.push_bind(cause.to_string());
    Share::of(scope, filter).push(&mut sql);
    sql.push(format_args!(" order by c.waiting + c.dead desc, i.id limit {MAX_AFFECTED}"));
    let rows: Vec<Affected> = sql.build_query_as().fetch_all(pool).await?;
    Ok(rows
        .into_iter()
        .map(|row| AffectedIntegration {
            integration_id: row.integration_id,
            name: row.name,
            app_id: row.app_id,
            app_name: row.app_name,
            fingerprint: row.fingerprint,
            to_be_retried: row.waiting.max(0),
            dead_letters: row.dead.max(0),
            first_at: row.first_at,
            last_at: row.last_at,
            note: row.note.zip(row.noted_at).map(|(text, at)| FailureNote { text, at }),
        })
        .collect())
}

/// Appends the statement that reads the groups in a state, with their weight.
fn push_groups(
    sql: &mut QueryBuilder<Postgres>,
    share: Share,
    state: Option<FailureState>,
    cause: Option<CauseId>,
) {
    let weight = match state {
        Some(FailureState::Over) => "extract(epoch from g.last_at)::bigint",
        _ => "g.waiting + g.dead",
    };
    sql.push(format_args!("select g.*, {weight} as weight from ("));
    if share.is_all() {
        sql.push(
            "select g.cause, g.waiting, g.dead, g.failed, g.first_at, g.last_at, g.error_kind, g.error_message, \
             g.response_status, g.snoozed_until, g.fixed_at, g.last_at as failed_last_at \
             from headgate.failure_groups g where true",
        );
        if let Some(cause) = cause {
            sql.push(" and g.cause = ").push_bind(cause.to_string());
        }
    } else {
        sql.push(format_args!(
            "select c.*, g.snoozed_until, g.fixed_at, g.last_at as failed_last_at from ( \
             select c.cause, sum(c.waiting)::bigint as waiting, sum(c.dead)::bigint as dead, sum(c.failed)::bigint as failed, \
             min(c.first_at) as first_at, max(c.last_at) as last_at, \
             (array_agg(c.error_kind order by c.last_at desc))[1] as error_kind, \
             (array_agg(c.error_message order by c.last_at desc))[1] as error_message, \
             max(c.response_status) as response_status from {}",
            if cause.is_some() { OWN_BY_CAUSE } else { OWN }
        ));
        share.push(sql);
        if let Some(cause) = cause {
            sql.push(" and c.cause = ").push_bind(cause.to_string());
        }
        sql.push(
            " group by c.cause) c cross join lateral \
             (select * from headgate.failure_groups o where o.cause = c.cause offset 0) g",
        );
    }
    sql.push(") g where ").push(in_state(state));
}

/// The same decision as `FailureMarks::state`.
pub(super) fn in_state(state: Option<FailureState>) -> &'static str {
    match state {
        None => "true",
        Some(FailureState::Fixed) => "g.fixed_at >= g.failed_last_at",
        Some(FailureState::Over) => {
            "coalesce(g.fixed_at < g.failed_last_at, true) and g.waiting + g.dead <= 0"
        }
        Some(FailureState::Snoozed) => {
            "coalesce(g.fixed_at < g.failed_last_at, true) and g.waiting + g.dead > 0 \
             and g.snoozed_until > clock_timestamp()"
        }
        Some(FailureState::Open) => {
            "coalesce(g.fixed_at < g.failed_last_at, true) and g.waiting + g.dead > 0 \
             and coalesce(g.snoozed_until <= clock_timestamp(), true)"
        }
    }
}

/// Adds the numbers of integrations and apps affected, and the trend: two statements for all groups of a page.
async fn with_related(pool: &PgPool, share: Share, rows: Vec<Row>) -> Result<Vec<FailureGroup>, QueueError> {
    let Some(now) = rows.first().map(|row| row.now) else { return Ok(Vec::new()) };
    let causes: Vec<String> = rows.iter().map(|row| row.cause.clone()).collect();
    let mut reach = reach(pool, share, &causes).await?;
    let mut trends = trends(pool, share, &causes, now).await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let (integrations, apps) = reach.remove(&row.cause).unwrap_or_default();
            let failed = trends.remove(&row.cause).unwrap_or_else(|| vec![0; STEPS]);
            let trend = FailureTrend { step_seconds: STEP_SECONDS, from: trend_begins(now), failed };
            row.group(Related { integrations, apps, trend })
        })
        .collect())
}

/// Integrations and apps that have jobs of each cause.
async fn reach(
    pool: &PgPool,
    share: Share,
    causes: &[String],
) -> Result<HashMap<String, (i64, i64)>, QueueError> {
    let mut sql = QueryBuilder::new("select u.cause, n.integrations, n.apps from unnest(");
    sql.push_bind(causes.to_vec()).push(format_args!(
        "::text[]) u (cause) cross join lateral (select count(*) as integrations, count(distinct app_id) as apps \
         from (select i.app_id from {OWN_BY_CAUSE} and c.cause = u.cause and c.waiting + c.dead > 0"
    ));
    share.push(&mut sql);
    sql.push(format_args!(" limit {MAX_COUNTED}) found) n"));
    let rows: Vec<(String, i64, i64)> = sql.build_query_as().fetch_all(pool).await?;
    Ok(rows.into_iter().map(|(cause, integrations, apps)| (cause, (integrations, apps))).collect())
}

/// The beginning of the first step.
fn trend_begins(now: DateTime<Utc>) -> DateTime<Utc> {
    let step = i64::from(STEP_SECONDS);
    let last = now.timestamp().div_euclid(step);
    let first = last + 1 - i64::try_from(STEPS).unwrap_or_default();
    DateTime::from_timestamp(first * step, 0).unwrap_or(now)
}

/// Failed attempts by cause and step: for all integrations from the rows of the whole group, for a share summed over its integrations.
async fn trends(
    pool: &PgPool,
    share: Share,
    causes: &[String],
    now: DateTime<Utc>,
) -> Result<HashMap<String, Vec<i64>>, QueueError> {
    let from = trend_begins(now);
    let mut sql = QueryBuilder::new("");
    if share.is_all() {
        sql.push(
            "select t.key as cause, t.bucket_at, t.failed from headgate.failure_trend t where t.key = any (",
        );
        sql.push_bind(causes.to_vec()).push(") and t.bucket_at >= ").push_bind(from);
    } else {
        sql.push(
            "select c.cause, t.bucket_at, sum(t.failed)::bigint as failed from headgate.failure_counts c \
             cross join lateral (select * from headgate.integrations o where o.id = c.integration_id offset 0) i \
             join headgate.failure_trend t on t.key = c.fingerprint where c.cause = any (",
        );
        sql.push_bind(causes.to_vec()).push(") and t.bucket_at >= ").push_bind(from);
        share.push(&mut sql);
        sql.push(" group by c.cause, t.bucket_at");
    }
    let rows: Vec<(String, DateTime<Utc>, i64)> = sql.build_query_as().fetch_all(pool).await?;
    let mut trends: HashMap<String, Vec<i64>> = HashMap::new();
    for (cause, at, failed) in rows {
        let steps = trends.entry(cause).or_insert_with(|| vec![0; STEPS]);
        let at = (at - from).num_seconds() / i64::from(STEP_SECONDS);
        if let Some(step) = usize::try_from(at).ok().and_then(|at| steps.get_mut(at)) {
            *step += failed;
        }
    }
    Ok(trends)
}
