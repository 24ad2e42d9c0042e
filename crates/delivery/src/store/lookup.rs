//! Finds what a text names: records of any app and type, and apps.
//!
//! The catalog's primary key begins with app and type, and nothing else is indexed there: an index of ids would make the insertion of a new
//! record take half as long again (27 µs instead of 17, measured over 200,000), for a query that only people make. Instead each pair of app
//! and type that the counters know is probed: 7 µs each while the index is in memory, 80 when it comes from the disk (3,000 pairs: 27 ms, 320
//! the first time). A query within one app probes only that app's pairs.

use model::{actor::Scope, app::App, id::AppId, record::RecordKey};
use sqlx::PgPool;
use uuid::Uuid;

use crate::DeliveryError;

/// A record's type, if it is given, and its id.
pub(crate) type Named = (Option<String>, String);

/// The records with any of these names, by app and type.
pub(crate) async fn records(
    pool: &PgPool,
    app_id: Option<AppId>,
    named: &[Named],
    limit: i64,
) -> Result<Vec<RecordKey>, DeliveryError> {
    let types: Vec<Option<String>> = named.iter().map(|(kind, _)| kind.clone()).collect();
    let ids: Vec<String> = named.iter().map(|(_, id)| id.clone()).collect();
    let rows = sqlx::query!(
        r#"
        select found.app_id as "app_id!: AppId", found.record_type as "record_type!", found.record_id as "record_id!"
        from headgate.record_kinds pair
        cross join unnest($2::text[], $3::text[]) named (record_type, record_id)
        -- The limit keeps it a probe, whatever the planner believes of the catalog's size.
        cross join lateral (
            select r.app_id, r.record_type, r.record_id from headgate.records r
            where r.app_id = pair.app_id and r.record_type = pair.record_type and r.record_id = named.record_id
            limit 1
        ) found
        where ($1::uuid is null or pair.app_id = $1) and (named.record_type is null or named.record_type = pair.record_type)
        order by 1, 2, 3
        limit $4
        "#,
        app_id as Option<AppId>,
        &types as &[Option<String>],
        &ids,
        limit,
    )
    .fetch_all(pool)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| RecordKey { app_id: row.app_id, record_type: row.record_type, record_id: row.record_id })
        .collect())
}

/// The apps with this id or slug, or whose name begins with the text; those with exactly this name first.
pub(crate) async fn apps(
    pool: &PgPool,
    scope: Scope,
    text: &str,
    limit: i64,
) -> Result<Vec<App>, DeliveryError> {
    let id = Uuid::try_parse(text).ok();
    let apps = sqlx::query_as!(
        App,
        r#"
        select id as "id: AppId", name, slug, created_at, updated_at
        from headgate.apps
        where ($3::uuid is null or id = $3)
            and (id = $2 or slug = lower($1) or lower(name) like
                replace(replace(replace(lower($1), '\', '\\'), '%', '\%'), '_', '\_') || '%')
        order by lower(name) = lower($1) desc, lower(name), id
        limit $4
        "#,
        text,
        id,
        scope.app_id() as Option<AppId>,
        limit,
    )
    .fetch_all(pool)
    .await?;
    Ok(apps)
}
