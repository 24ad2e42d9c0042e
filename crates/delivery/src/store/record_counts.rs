//! How many records there are, and how many of them an integration has, without counting rows: each change appends a delta, the leader folds
//! them, and reads add the unfolded ones.

use model::id::{AppId, IntegrationId};
use sqlx::PgPool;

use crate::DeliveryError;

/// Records of an integration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordCounts {
    /// Records of the app that are not deleted.
    pub total: i64,
    /// Those the integration accepted in their current version.
    pub in_sync: i64,
}

/// Counts the records of these types, or of all.
pub(crate) async fn read(
    pool: &PgPool,
    app_id: AppId,
    integration_id: IntegrationId,
    types: Option<&[String]>,
) -> Result<RecordCounts, DeliveryError> {
    let counts = sqlx::query_as!(
        RecordCounts,
        r#"
        select
            coalesce(sum(n) filter (where not is_in_sync), 0)::bigint as "total!",
            coalesce(sum(n) filter (where is_in_sync), 0)::bigint as "in_sync!"
        from (
            select false as is_in_sync, record_type, n from headgate.record_counts where app_id = $1
            union all
            select false, record_type, n from headgate.record_count_deltas where app_id = $1
            union all
            select true, record_type, n from headgate.in_sync_counts where integration_id = $2
            union all
            select true, record_type, n from headgate.in_sync_count_deltas where integration_id = $2
        ) counted
        where $3::text[] is null or record_type = any ($3)
        "#,
        app_id as AppId,
        integration_id as IntegrationId,
        types,
    )
    .fetch_one(pool)
    .await?;
    Ok(counts)
}
