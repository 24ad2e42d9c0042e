//! What integrations mark as not to be shown.

use std::collections::BTreeMap;

use model::{id::AppId, rules::masking::METADATA_KEY};
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
