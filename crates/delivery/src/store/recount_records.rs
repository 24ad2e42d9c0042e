//! Compares the counters of records with the rows, one app or integration at a time; [`queue::store::counts::recount`] says why that is exact.

use model::id::{AppId, IntegrationId};
use queue::QueueError;
use sqlx::PgConnection;

/// The next app after this one.
pub(crate) async fn next_app(
    connection: &mut PgConnection,
    after: AppId,
) -> Result<Option<AppId>, QueueError> {
    let next = sqlx::query_scalar!(
        r#"select id as "id: AppId" from headgate.apps where id > $1 order by id limit 1"#,
        after as AppId
    )
    .fetch_optional(connection)
    .await?;
    Ok(next)
}

/// The next integration after this one.
pub(crate) async fn next_integration(
    connection: &mut PgConnection,
    after: IntegrationId,
) -> Result<Option<IntegrationId>, QueueError> {
    let next = sqlx::query_scalar!(
        r#"select id as "id: IntegrationId" from headgate.integrations where id > $1 order by id limit 1"#,
        after as IntegrationId
    )
    .fetch_optional(connection)
    .await?;
    Ok(next)
}

/// Corrects the numbers of an app's records; returns by how many they were wrong.
pub(crate) async fn prove_records(connection: &mut PgConnection, app_id: AppId) -> Result<i64, QueueError> {
    let off_by = sqlx::query_scalar!(
        r#"
        with differences as materialized (
            select record_type, sum(n)::bigint as n
            from (
                select record_type, 1 as n from headgate.records where app_id = $1 and deleted_at is null
                union all
                select record_type, -n from headgate.record_counts where app_id = $1
                union all
                select record_type, -n from headgate.record_count_deltas where app_id = $1
            ) seen
            group by record_type
            having sum(n) <> 0
        ), repaired as (
            insert into headgate.record_count_deltas (app_id, record_type, n)
            select $1, record_type, n::int from differences
        )
        select coalesce(sum(abs(n)), 0)::bigint as "off_by!" from differences
        "#,
        app_id as AppId,
    )
    .fetch_one(connection)
    .await?;
    Ok(off_by)
}

/// Corrects the numbers of records that an integration has in their current version; returns by how many they were wrong.
pub(crate) async fn prove_in_sync(
    connection: &mut PgConnection,
    integration_id: IntegrationId,
) -> Result<i64, QueueError> {
    let off_by = sqlx::query_scalar!(
        r#"
        with differences as materialized (
            select record_type, sum(n)::bigint as n
            from (
                select s.record_type, 1 as n
                from headgate.integrations i
                join headgate.sent_records s on s.integration_id = i.id
                join headgate.records r
                    on r.app_id = i.app_id and r.record_type = s.record_type and r.record_id = s.record_id and r.version = s.version
                where i.id = $1 and r.deleted_at is null and i.integration_type <> 'external'
                union all
                select record_type, -n from headgate.in_sync_counts where integration_id = $1
                union all
                select record_type, -n from headgate.in_sync_count_deltas where integration_id = $1
            ) seen
            group by record_type
            having sum(n) <> 0
        ), repaired as (
            insert into headgate.in_sync_count_deltas (integration_id, record_type, n)
            select $1, record_type, n::int from differences
        )
        select coalesce(sum(abs(n)), 0)::bigint as "off_by!" from differences
        "#,
        integration_id as IntegrationId,
    )
    .fetch_one(connection)
    .await?;
    Ok(off_by)
}
