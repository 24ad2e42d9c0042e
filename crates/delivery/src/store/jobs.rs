//! Integrations and batches that the jobs of `POST /jobs` refer to.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use model::actor::Scope;
use model::id::{AppId, BatchId, IntegrationId, JobId};
use model::integration::{IntegrationState, IntegrationType};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::integrations::parse_stored;
use crate::DeliveryError;

/// An integration that may take a job.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) id: IntegrationId,
    pub(crate) app_id: AppId,
    pub(crate) integration_type: IntegrationType,
    pub(crate) state: IntegrationState,
    pub(crate) is_built_in: bool,
    pub(crate) timeout_ms: Option<i32>,
    pub(crate) max_attempts: Option<i16>,
    /// The database's time.
    pub(crate) now: DateTime<Utc>,
}

/// Integrations by id, and the built-in ones of apps, locked against deletion.
pub(crate) async fn lock_targets(
    conn: &mut PgConnection,
    scope: Scope,
    ids: &[Uuid],
    apps: &[Uuid],
) -> Result<Vec<Target>, DeliveryError> {
    let rows = sqlx::query!(
        r#"
        select id as "id: IntegrationId", app_id as "app_id: AppId", integration_type, state, is_built_in, timeout_ms, max_attempts,
            clock_timestamp() as "now!"
        from headgate.integrations
        where (id = any ($1) or (app_id = any ($2) and is_built_in)) and ($3::uuid is null or app_id = $3)
        order by id
        for key share
        "#,
        ids,
        apps,
        scope.app_id() as Option<AppId>,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Target {
                id: row.id,
                app_id: row.app_id,
                integration_type: parse_stored(&row.integration_type)?,
                state: parse_stored(&row.state)?,
                is_built_in: row.is_built_in,
                timeout_ms: row.timeout_ms,
                max_attempts: row.max_attempts,
                now: row.now,
            })
        })
        .collect::<Result<_, sqlx::Error>>()
        .map_err(DeliveryError::from)
}

/// Whether the next attempt of a live or dead job sends the whole record, as for a re-sync.
pub(crate) async fn is_full(pool: &PgPool, id: JobId) -> Result<bool, DeliveryError> {
    let is_full = sqlx::query_scalar!(
        r#"
        select is_full as "is_full!" from headgate.jobs where id = $1
        union all
        select is_full from headgate.dead_letter_jobs where job_id = $1
        limit 1
        "#,
        id as JobId,
    )
    .fetch_optional(pool)
    .await?;
    Ok(is_full.unwrap_or(false))
}

/// The batches that exist and still take items, with their apps, locked against being sealed.
pub(crate) async fn lock_batches(
    conn: &mut PgConnection,
    ids: &[Uuid],
) -> Result<HashSet<(BatchId, AppId)>, DeliveryError> {
    if ids.is_empty() {
        return Ok(HashSet::new());
    }
    let rows = sqlx::query!(
        r#"
        select id as "id: BatchId", app_id as "app_id: AppId" from headgate.batches
        where id = any ($1) and not is_sealed
        order by id
        for share
        "#,
        ids,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.app_id)).collect())
}
