//! Reading the catalog for a re-sync, portion by portion.

use model::id::{AppId, BatchId, IntegrationId, ResyncId};
use model::resync::ResyncMode;
use sqlx::PgConnection;

use crate::{DeliveryError, store::integrations::parse_stored};

/// A running re-sync that has not read the whole catalog.
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
    /// Sorted; none: all types.
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

/// Locks a re-sync that goes on reading, and its integration against deletion.
pub(crate) async fn lock_running(
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
        mode: parse_stored(&row.mode)?,
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

/// Reads keys after the cursor. Wanted are live records (in the mode `changed` only those of which the integration has an older version or
/// an uncertain one), and deleted ones that the integration may still have.
pub(crate) async fn scan(
    conn: &mut PgConnection,
    resync: &Enumeration,
    record_type: Option<&str>,
    cursor: Option<&(String, String)>,
    limit: i64,
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
        left join headgate.uncertain_records u on u.integration_id = $7 and u.record_type = r.record_type and u.record_id = r.record_id
        order by r.record_type, r.record_id
        "#,
        resync.app_id as AppId,
        record_type,
        resync.record_ids.as_deref(),
        after_type,
        after_id,
        limit,
        resync.integration_id as IntegrationId,
        resync.mode == ResyncMode::Full,
    )
    .fetch_all(conn)
    .await?;
    Ok(candidates)
}

pub(crate) async fn save_cursor(
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
