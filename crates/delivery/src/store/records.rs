//! Reads the catalog: lists in key order, and one record with what each integration has of it.

use chrono::{DateTime, Utc};
use model::actor::Scope;
use model::attributes::Attributes;
use model::id::{AppId, IntegrationId, JobId};
use model::job::JobStatus;
use model::page::Page;
use model::record::{Record, RecordFilter, RecordSync, RecordWithSync};
use model::record_page::{self, RecordCursor, RecordPageRequest};
use sqlx::{PgPool, types::Json};

use crate::DeliveryError;

struct RecordRow {
    app_id: AppId,
    record_type: String,
    record_id: String,
    version: i64,
    attributes: Json<Attributes>,
    deleted_at: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl From<RecordRow> for Record {
    fn from(row: RecordRow) -> Self {
        Self {
            app_id: row.app_id,
            record_type: row.record_type,
            record_id: row.record_id,
            version: row.version,
            attributes: row.attributes.0,
            deleted_at: row.deleted_at,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// In the order of app, type and id; deleted ones are left out.
///
/// The primary key begins with app and type: the pairs that the counters know are read one after another until the page is full.
pub(crate) async fn list(
    pool: &PgPool,
    scope: Scope,
    filter: &RecordFilter,
    page: &RecordPageRequest,
) -> Result<Page<Record>, DeliveryError> {
    if filter.app_id.is_some_and(|app_id| !scope.contains(app_id)) {
        return Ok(Page { items: Vec::new(), next_cursor: None });
    }
    let app_id = scope.app_id().or(filter.app_id);
    let after = page.after.as_ref();
    let rows = sqlx::query_as!(
        RecordRow,
        r#"
        select found.app_id as "app_id: AppId", found.record_type, found.record_id, found.version,
            found.attributes as "attributes: Json<Attributes>", found.deleted_at, found.created_at, found.updated_at
        from (
            select kind.app_id, kind.record_type from headgate.record_kinds kind
            where ($1::uuid is null or kind.app_id = $1) and ($2::text is null or kind.record_type = $2)
                and ($3::uuid is null or (kind.app_id, kind.record_type) >= ($3, $4))
            -- In this order the next pairs are read only while the page is not full.
            order by kind.app_id, kind.record_type
        ) pair
        cross join lateral (
            select r.* from headgate.records r
            where r.app_id = pair.app_id and r.record_type = pair.record_type and r.deleted_at is null
                and r.record_id > case when (pair.app_id, pair.record_type) = ($3, $4) then $5 else '' end
            order by r.record_id
            limit $6
        ) found
        order by pair.app_id, pair.record_type, found.record_id
        limit $6
        "#,
        app_id as Option<AppId>,
        filter.record_type.as_deref(),
        after.and_then(|after| after.app_id) as Option<AppId>,
        after.map(|after| after.record_type.as_str()),
        after.map(|after| after.record_id.as_str()),
        page.limit + 1,
    )
    .fetch_all(pool)
    .await?;
    let records: Vec<Record> = rows.into_iter().map(Record::from).collect();
    Ok(record_page::from_surplus(records, page.limit, |record| RecordCursor {
        app_id: Some(record.app_id),
        record_type: record.record_type.clone(),
        record_id: record.record_id.clone(),
    }))
}

/// One record, deleted or not, with the state of each integration that is interested in it.
pub(crate) async fn get(
    pool: &PgPool,
    scope: Scope,
    app_id: AppId,
    record_type: &str,
    record_id: &str,
) -> Result<RecordWithSync, DeliveryError> {
    if !scope.contains(app_id) {
        return Err(DeliveryError::not_found("record"));
    }
    let row = sqlx::query_as!(
        RecordRow,
        r#"
        select app_id as "app_id: AppId", record_type, record_id, version, attributes as "attributes: Json<Attributes>", deleted_at,
            created_at, updated_at
        from headgate.records
        where app_id = $1 and record_type = $2 and record_id = $3
            and exists (select from headgate.apps a where a.id = $1)
        "#,
        app_id as AppId,
        record_type,
        record_id,
    )
    .fetch_optional(pool)
    .await?
    .ok_or_else(|| DeliveryError::not_found("record"))?;
    let record = Record::from(row);
    let integrations = sync(pool, &record).await?;
    Ok(RecordWithSync { record, integrations })
}

async fn sync(pool: &PgPool, record: &Record) -> Result<Vec<RecordSync>, DeliveryError> {
    let rows = sqlx::query!(
        r#"
        select i.id as "id: IntegrationId", i.name, s.version as "version?", s.sent_at as "sent_at?",
            u.integration_id is not null as "is_uncertain!",
            coalesce(j.id, d.job_id) as "job_id: JobId", j.status as "status?", j.retry_at as "retry_at?", clock_timestamp() as "now!"
        from headgate.integrations i
        left join headgate.sent_records s on s.integration_id = i.id and s.record_type = $2 and s.record_id = $3
        left join headgate.uncertain_records u on u.integration_id = i.id and u.record_type = $2 and u.record_id = $3
        left join headgate.jobs j on j.integration_id = i.id and j.deduplication_id = $4
        left join lateral (
            select d.job_id from headgate.dead_letter_jobs d
            where d.app_id = $1 and d.record_type = $2 and d.record_id = $3 and d.integration_id = i.id
            order by d.id desc limit 1
        ) d on true
        where i.app_id = $1 and i.integration_type <> 'external' and (i.record_types is null or $2 = any (i.record_types))
        order by i.id
        "#,
        record.app_id as AppId,
        record.record_type,
        record.record_id,
        crate::catalog::key::deduplication_id(&record.record_type, &record.record_id),
    )
    .fetch_all(pool)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let is_deleted = record.deleted_at.is_some();
            // Neither a deletion that was accepted nor one that never had to be sent leaves a row.
            let has_newest =
                if is_deleted { row.version.is_none() } else { row.version == Some(record.version) };
            let in_sync = has_newest && !row.is_uncertain && row.status.is_none();
            let status = match row.status {
                Some(code) => Some(JobStatus::from_code(code, row.retry_at, row.now)),
                None if row.job_id.is_some() => Some(JobStatus::Failed),
                None => None,
            };
            // The dead letter of a change that a later one includes is out of date.
            let is_current = row.status.is_some() || !in_sync;
            RecordSync {
                integration_id: row.id,
                integration_name: row.name,
                version: row.version,
                sent_at: row.sent_at,
                in_sync,
                job_id: row.job_id.filter(|_| is_current),
                job_status: status.filter(|_| is_current),
            }
        })
        .collect())
}
