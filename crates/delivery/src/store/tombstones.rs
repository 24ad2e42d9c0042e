//! Deleted records stay as tombstones until their deletion has reached every integration. Tombstones that are no longer needed are removed.

use std::time::Duration;

use chrono::{DateTime, Utc};
use model::id::AppId;
use queue::QueueError;
use queue::store::leader::Term;
use queue::store::retention::begin;
use sqlx::PgPool;

/// Tombstones checked by one statement.
const PORTION: i64 = 2_000;

/// How far a pass over all tombstones has come; the default is the beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TombstoneCursor {
    deleted_at: DateTime<Utc>,
    app_id: AppId,
    record_type: String,
    record_id: String,
}

impl Default for TombstoneCursor {
    fn default() -> Self {
        let (record_type, record_id) = (String::new(), String::new());
        Self { deleted_at: DateTime::UNIX_EPOCH, app_id: AppId(uuid::Uuid::nil()), record_type, record_id }
    }
}

/// Checks the next tombstones after `cursor` that are older than `kept`, and removes those whose record no integration has or may have. Returns how far
/// it came; none after the last one.
///
/// A job that comes later finds no record, which means the same as a tombstone: it sends the deletion if the external system has the record after all.
pub(crate) async fn remove_tombstones(
    pool: &PgPool,
    term: Term,
    kept: Duration,
    cursor: &TombstoneCursor,
) -> Result<Option<TombstoneCursor>, QueueError> {
    let mut transaction = begin(pool, term).await?;
    let last = sqlx::query!(
        r#"
        with seen as materialized (
            select deleted_at, app_id, record_type, record_id
            from headgate.records
            where deleted_at < (select clock_timestamp()) - make_interval(secs => $1)
                and (deleted_at, app_id, record_type, record_id) > ($2, $3, $4, $5)
            order by deleted_at, app_id, record_type, record_id
            limit $6
        ), unneeded as materialized (
            select app_id, record_type, record_id from seen s
            where not exists (
                select from headgate.integrations i
                cross join lateral (
                    (
                        select from headgate.sent_records a
                        where a.integration_id = i.id and a.record_type = s.record_type and a.record_id = s.record_id
                        offset 0
                    )
                    union all
                    (
                        select from headgate.uncertain_records u
                        where u.integration_id = i.id and u.record_type = s.record_type and u.record_id = s.record_id
                        offset 0
                    )
                ) has_it
                where i.app_id = s.app_id
            )
        ), locked as materialized (
            -- Whoever has locked one may be creating its record again.
            select r.place from unneeded n
            cross join lateral (
                select r.ctid as place from headgate.records r
                where r.app_id = n.app_id and r.record_type = n.record_type and r.record_id = n.record_id and r.deleted_at is not null
                for update skip locked offset 0
            ) r
        ), removed as (
            delete from headgate.records where ctid = any (array(select place from locked))
        )
        select deleted_at as "deleted_at!", app_id as "app_id: AppId", record_type, record_id,
            (select count(*) from seen) as "seen!"
        from seen
        order by deleted_at desc, app_id desc, record_type desc, record_id desc
        limit 1
        "#,
        kept.as_secs_f64(),
        cursor.deleted_at,
        cursor.app_id as AppId,
        cursor.record_type,
        cursor.record_id,
        PORTION,
    )
    .fetch_optional(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(last.filter(|last| last.seen == PORTION).map(|last| TombstoneCursor {
        deleted_at: last.deleted_at,
        app_id: last.app_id,
        record_type: last.record_type,
        record_id: last.record_id,
    }))
}
