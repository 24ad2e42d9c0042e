//! All jobs about one thing, of every part: by record, correlation id, deduplication id or job id. Each has an index of its own, so each is a
//! sub-query limited to a page, and the newest rows of all are taken.

use crate::store::job_lists::filter;
use model::actor::Scope;
use model::attempt::Attempt;
use model::id::{AppId, JobId};
use model::job::Job;
use model::page::{Page, PageRequest};
use model::record::RecordKey;
use model::trail::TrailJob;
use queue::error::QueueError;
use queue::store::jobs::read::rows::{JobRow, select};
use queue::store::jobs::{Part, deduplication_id, push_scope};
use serde_json::Value;
use sqlx::{PgPool, Postgres, QueryBuilder};
use std::collections::HashMap;
use uuid::Uuid;

/// What the jobs are about: a job that matches any of it is listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrailKeys {
    /// Jobs of these records; only a few.
    pub records: Vec<RecordKey>,
    /// Jobs with this correlation id.
    pub correlation_id: Option<String>,
    /// Jobs with this deduplication id that are about no record.
    pub deduplication_id: Option<String>,
    /// This job.
    pub job_id: Option<JobId>,
    /// Only jobs of this app.
    pub app_id: Option<AppId>,
}

impl TrailKeys {
    fn is_empty(&self) -> bool {
        let Self { records, correlation_id, deduplication_id, job_id, app_id: _ } = self;
        records.is_empty() && correlation_id.is_none() && deduplication_id.is_none() && job_id.is_none()
    }
}

/// The jobs, newest first, with how often each failed and was requeued.
///
/// # Errors
/// [`QueueError::Timeout`] when the pool's `statement_timeout` is over.
pub async fn trail(
    pool: &PgPool,
    scope: Scope,
    keys: &TrailKeys,
    page: PageRequest,
) -> Result<Page<TrailJob>, QueueError> {
    if keys.is_empty() {
        return Ok(Page { items: Vec::new(), next_cursor: None });
    }
    let rows = statement(scope, keys, page).build_query_as::<JobRow>().fetch_all(pool).await?;
    let page = Page::from_surplus(rows, page.limit, |row| row.id.0).map(Job::from);
    let ids: Vec<Uuid> = page.items.iter().map(|job| job.id.0).collect();
    let mut histories = histories(pool, &ids).await?;
    Ok(page.map(|job| {
        let History { failed_attempts, requeues, last_error } = histories.remove(&job.id).unwrap_or_default();
        TrailJob { job, failed_attempts, requeues, last_error }
    }))
}

fn statement(scope: Scope, keys: &TrailKeys, page: PageRequest) -> QueryBuilder<Postgres> {
    // `distinct on`: a job may move from one table to another during the query, and several sub-queries may find it.
    let mut sql = QueryBuilder::new("select * from (select distinct on (id) * from (");
    let mut is_first = true;
    for part in Part::ALL {
        let mut arm = |push: &dyn Fn(&mut QueryBuilder<Postgres>)| {
            sql.push(if is_first { "(" } else { " union all (" });
            is_first = false;
            push(&mut sql);
            sql.push(")");
        };
        if !keys.records.is_empty() {
            arm(&|sql| push_of_records(sql, part, scope, keys, page));
        }
        if let Some(id) = &keys.correlation_id {
            for push in [filter::push_came_with, filter::push_was_folded] {
                arm(&|sql| {
                    sql.push(select(part)).push(" and ");
                    push(sql, part, id);
                    push_end(sql, part, scope, keys, page);
                });
            }
        }
        if let Some(id) = &keys.deduplication_id {
            arm(&|sql| {
                sql.push(select(part)).push(" and j.deduplication_id = ").push_bind(id.clone());
                sql.push(match part {
                    // There is one live job per integration and id: one probe per integration.
                    Part::Live | Part::Failing | Part::Successors => {
                        " and j.integration_id in (select o.id from headgate.integrations o)"
                    }
                    Part::Finished | Part::Dead => " and j.record_id is null",
                });
                push_end(sql, part, scope, keys, page);
            });
        }
        if let Some(id) = keys.job_id {
            arm(&|sql| {
                sql.push(select(part)).push(format_args!(" and {} = ", part.job_id())).push_bind(id.0);
                push_end(sql, part, scope, keys, page);
            });
        }
    }
    sql.push(format_args!(") found order by id desc) each_once order by id desc limit {}", page.limit + 1));
    sql
}

/// Jobs of records: the live one of each integration by its deduplication id, ended ones by the record.
fn push_of_records(
    sql: &mut QueryBuilder<Postgres>,
    part: Part,
    scope: Scope,
    keys: &TrailKeys,
    page: PageRequest,
) {
    let column = |read: fn(&RecordKey) -> String| keys.records.iter().map(read).collect::<Vec<_>>();
    sql.push("select of_record.* from unnest(");
    sql.push_bind(keys.records.iter().map(|key| key.app_id.0).collect::<Vec<_>>()).push(", ");
    sql.push_bind(column(|key| key.record_type.clone())).push(", ");
    sql.push_bind(column(|key| key.record_id.clone())).push(", ");
    sql.push_bind(column(|key| deduplication_id(&key.record_type, &key.record_id)));
    sql.push(") k (app_id, record_type, record_id, deduplication_id) cross join lateral (")
        .push(select(part));
    sql.push(match part {
        Part::Live | Part::Failing | Part::Successors => {
            " and j.app_id = k.app_id and j.deduplication_id = k.deduplication_id \
             and j.integration_id in (select o.id from headgate.integrations o where o.app_id = k.app_id)"
        }
        Part::Finished | Part::Dead => {
            " and j.app_id = k.app_id and j.record_type = k.record_type and j.record_id = k.record_id"
        }
    });
    push_end(sql, part, scope, keys, page);
    sql.push(") of_record");
}

fn push_end(sql: &mut QueryBuilder<Postgres>, part: Part, scope: Scope, keys: &TrailKeys, page: PageRequest) {
    push_scope(sql, scope, part);
    if let Some(app_id) = keys.app_id {
        sql.push(" and j.app_id = ").push_bind(app_id);
    }
    if let Some(after) = page.after {
        sql.push(format_args!(" and {} < ", part.job_id())).push_bind(after);
    }
    sql.push(format_args!(" order by {} desc limit {}", part.job_id(), page.limit + 1));
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct History {
    failed_attempts: i64,
    requeues: i64,
    last_error: Option<String>,
}

async fn histories(pool: &PgPool, ids: &[Uuid]) -> Result<HashMap<JobId, History>, QueueError> {
    let rows = sqlx::query!(
        r#"
        select asked.id as "id!: JobId", coalesce(d.attempts, headgate.attempts_of(asked.id)) as "attempts!: Value"
        from unnest($1::uuid[]) asked (id)
        left join headgate.dead_letter_jobs d on d.job_id = asked.id
        "#,
        ids,
    )
    .fetch_all(pool)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let attempts: Vec<Attempt> = serde_json::from_value(row.attempts).unwrap_or_default();
            (row.id, History::of(&attempts))
        })
        .collect())
}

impl History {
    fn of(attempts: &[Attempt]) -> Self {
        // A requeue begins with a lower number. After a lost lease the number is the same: that does not count.
        let restarts = |pair: &[Attempt]| matches!(pair, [before, after] if after.attempt < before.attempt);
        Self {
            failed_attempts: i64::try_from(attempts.len()).unwrap_or(i64::MAX),
            requeues: attempts
                .windows(2)
                .filter(|pair| restarts(pair))
                .count()
                .try_into()
                .unwrap_or(i64::MAX),
            last_error: attempts.iter().rev().find_map(|attempt| attempt.error_message.clone()),
        }
    }
}
