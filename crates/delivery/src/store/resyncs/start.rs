//! Starts a re-sync, unless one of the same records is running or has just ended.

use std::time::Duration;

use model::id::{AppId, BatchId, IntegrationId, ResyncId};
use model::resync::ResyncMode;
use sqlx::PgConnection;

use crate::DeliveryError;

/// What a re-sync covers: a type, and ids of that type.
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

/// The rest of the wait after the last re-sync of the same records; none when it may begin.
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

/// Inserts the re-sync and its batch, which is sealed from the start: only the re-sync adds items.
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
