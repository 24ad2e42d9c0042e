//! Names of integrations. Lists read them together with their rows, because a snapshot may be older than what they list.

use model::actor::Scope;
use model::id::{AppId, IntegrationId};
use model::integration::IntegrationName;
use queue::error::QueueError;
use sqlx::PgPool;
use std::collections::BTreeMap;

/// The names of some integrations and, given an app, of its built-in one. Deleted integrations are left out.
pub async fn names(
    pool: &PgPool,
    scope: Scope,
    ids: &[IntegrationId],
    app_id: Option<AppId>,
) -> Result<BTreeMap<IntegrationId, IntegrationName>, QueueError> {
    let rows = sqlx::query!(
        r#"
        select i.id as "id: IntegrationId", i.app_id as "app_id: AppId", i.name, a.name as app_name
        from headgate.integrations i
        join headgate.apps a on a.id = i.app_id
        where (i.id = any ($1) or (i.app_id = $2 and i.is_built_in)) and ($3::uuid is null or i.app_id = $3)
        "#,
        ids as &[IntegrationId],
        app_id.map(|id| id.0),
        scope.app_id().map(|id| id.0)
    )
    .fetch_all(pool)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (row.id, IntegrationName { name: row.name, app_id: row.app_id, app_name: row.app_name }))
        .collect())
}
