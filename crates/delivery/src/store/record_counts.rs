//! How many records there are, without counting them: deltas appended by whoever changes the catalog, folded by the leader. Whoever reads
//! adds the unfolded ones.

use model::id::AppId;
use sqlx::PgPool;

use crate::DeliveryError;

/// Records of an app that are not deleted, of these types or of all.
pub(crate) async fn total(
    pool: &PgPool,
    app_id: AppId,
    types: Option<&[String]>,
) -> Result<i64, DeliveryError> {
    let total = sqlx::query_scalar!(
        r#"
        select coalesce(sum(n), 0)::bigint as "n!" from (
            select n from headgate.record_counts
            where app_id = $1 and ($2::text[] is null or record_type = any ($2))
            union all
            select n from headgate.record_count_deltas
            where app_id = $1 and ($2::text[] is null or record_type = any ($2))
        ) counted
        "#,
        app_id as AppId,
        types,
    )
    .fetch_one(pool)
    .await?;
    Ok(total)
}
