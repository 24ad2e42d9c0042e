//! The fields that integrations mark as masked.

use std::collections::BTreeMap;

use model::actor::Scope;
use model::filter::JobFilter;
use model::id::{AppId, IntegrationId};
use model::rules::masking::METADATA_KEY;
use sqlx::PgPool;
use uuid::Uuid;

use crate::DeliveryError;

/// The fields that integrations of these apps mark, by app; apps that mark none are not in it.
pub(crate) async fn marked(
    pool: &PgPool,
    app_ids: &[AppId],
) -> Result<BTreeMap<AppId, Vec<String>>, DeliveryError> {
    let ids: Vec<Uuid> = app_ids.iter().map(|id| id.0).collect();
    let rows = sqlx::query!(
        r#"
        select i.app_id as "app_id: AppId", field #>> '{}' as "field!"
        from headgate.integrations i
        cross join lateral jsonb_array_elements(
            case when jsonb_typeof(i.metadata -> $2) = 'array' then i.metadata -> $2 else '[]' end
        ) field
        where i.app_id = any ($1) and i.metadata ? $2 and jsonb_typeof(field) = 'string'
        "#,
        &ids,
        METADATA_KEY,
    )
    .fetch_all(pool)
    .await?;
    let mut marked = BTreeMap::<AppId, Vec<String>>::new();
    for row in rows {
        marked.entry(row.app_id).or_default().push(row.field);
    }
    Ok(marked)
}

/// The fields that integrations mark, of all apps whose data a filter may find. A deleted integration may have been of any app.
pub(crate) async fn marked_within(
    pool: &PgPool,
    scope: Scope,
    filter: &JobFilter,
) -> Result<Vec<String>, DeliveryError> {
    let marked = sqlx::query_scalar!(
        r#"
        select distinct field #>> '{}' as "field!"
        from headgate.integrations i
        cross join lateral jsonb_array_elements(
            case when jsonb_typeof(i.metadata -> $4) = 'array' then i.metadata -> $4 else '[]' end
        ) field
        where i.metadata ? $4 and jsonb_typeof(field) = 'string'
            and ($1::uuid is null or i.app_id = $1)
            and ($2::uuid is null or i.app_id = $2)
            and i.app_id = coalesce((select o.app_id from headgate.integrations o where o.id = $3), i.app_id)
        "#,
        scope.app_id() as Option<AppId>,
        filter.app_id as Option<AppId>,
        filter.integration_id as Option<IntegrationId>,
        METADATA_KEY,
    )
    .fetch_all(pool)
    .await?;
    Ok(marked)
}
