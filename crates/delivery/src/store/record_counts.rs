//! How many records there are, without counting them: deltas appended by whoever changes the catalog, folded by the leader. Whoever reads
//! adds the unfolded ones.

use model::id::AppId;
use sqlx::{PgConnection, PgPool};

use crate::DeliveryError;

/// Appends what a request changed.
pub(crate) async fn append(
    conn: &mut PgConnection,
    deltas: &[(AppId, String, i32)],
) -> Result<(), DeliveryError> {
    if deltas.is_empty() {
        return Ok(());
    }
    let apps: Vec<uuid::Uuid> = deltas.iter().map(|delta| delta.0.0).collect();
    let types: Vec<String> = deltas.iter().map(|delta| delta.1.clone()).collect();
    let counts: Vec<i32> = deltas.iter().map(|delta| delta.2).collect();
    sqlx::query!(
        r#"
        insert into headgate.record_count_deltas (app_id, record_type, n)
        select g.app_id, g.record_type, g.n from unnest($1::uuid[], $2::text[], $3::int[]) as g (app_id, record_type, n)
        "#,
        &apps,
        &types,
        &counts,
    )
    .execute(conn)
    .await?;
    Ok(())
}

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
