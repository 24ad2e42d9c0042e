//! Rows of `api_keys`, which have the hash of a key and its prefix, never the key.

use crate::error::AccessError;
use chrono::{DateTime, Utc};
use model::actor::Role;
use model::api_key::{ApiKey, NewApiKey};
use model::id::{ApiKeyId, AppId};
use model::page::PageRequest;
use model::problem::Faults;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

/// A key that is neither revoked nor expired.
pub(crate) struct Found {
    pub(crate) id: ApiKeyId,
    pub(crate) key_hash: Vec<u8>,
    pub(crate) name: String,
    pub(crate) role: String,
    pub(crate) app_id: Option<AppId>,
    pub(crate) is_stale: bool,
}

struct Row {
    id: ApiKeyId,
    name: String,
    role: String,
    app_id: Option<AppId>,
    prefix: String,
    created_at: DateTime<Utc>,
    expires_at: Option<DateTime<Utc>>,
    revoked_at: Option<DateTime<Utc>>,
    last_used_at: Option<DateTime<Utc>>,
}

impl From<Row> for ApiKey {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            // The table's check admits only known roles. If that ever fails: an auditor can change nothing.
            role: row.role.parse().unwrap_or(Role::Auditor),
            prefix: format!("hg_{}_{}", row.role, row.prefix),
            name: row.name,
            app_id: row.app_id,
            created_at: row.created_at,
            expires_at: row.expires_at,
            revoked_at: row.revoked_at,
            last_used_at: row.last_used_at,
        }
    }
}

pub(crate) async fn find(pool: &PgPool, prefix: &str) -> Result<Option<Found>, sqlx::Error> {
    sqlx::query_as!(
        Found,
        r#"
        select id as "id: ApiKeyId", key_hash, name, role, app_id as "app_id: AppId",
               (last_used_at is null or last_used_at < clock_timestamp() - interval '1 minute') as "is_stale!"
        from headgate.api_keys
        where prefix = $1 and revoked_at is null and (expires_at is null or expires_at > clock_timestamp())
        "#,
        prefix
    )
    .fetch_optional(pool)
    .await
}

pub(crate) async fn touch(pool: &PgPool, id: ApiKeyId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update headgate.api_keys set last_used_at = clock_timestamp() where id = $1",
        id as ApiKeyId
    )
    .execute(pool)
    .await?;
    Ok(())
}

/// Those that were revoked or have expired. Of the others, `last_used_at` is updated.
pub(crate) async fn ended(pool: &PgPool, ids: &[Uuid]) -> Result<Vec<ApiKeyId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"
        with used as (
            update headgate.api_keys set last_used_at = clock_timestamp()
            where id = any ($1::uuid[]) and (last_used_at is null or last_used_at < clock_timestamp() - interval '1 minute')
              and revoked_at is null and (expires_at is null or expires_at > clock_timestamp())
        )
        select asked.id as "id!: ApiKeyId"
        from unnest($1::uuid[]) as asked (id)
        where not exists (
            select from headgate.api_keys k
            where k.id = asked.id and k.revoked_at is null and (k.expires_at is null or k.expires_at > clock_timestamp())
        )
        "#,
        ids
    )
    .fetch_all(pool)
    .await
}

pub(crate) async fn insert(
    conn: &mut PgConnection,
    new: &NewApiKey,
    prefix: &str,
    key_hash: &[u8],
) -> Result<ApiKey, AccessError> {
    sqlx::query_as!(
        Row,
        r#"
        insert into headgate.api_keys (id, prefix, key_hash, name, role, app_id, expires_at)
        values ($1, $2, $3, $4, $5, $6, clock_timestamp() + make_interval(secs => $7::bigint))
        returning id as "id: ApiKeyId", name, role, app_id as "app_id: AppId", prefix,
                  created_at, expires_at, revoked_at, last_used_at
        "#,
        ApiKeyId::generate() as ApiKeyId,
        prefix,
        key_hash,
        new.name,
        new.role.as_str(),
        new.app_id as Option<AppId>,
        new.expires_in_seconds,
    )
    .fetch_one(conn)
    .await
    .map(ApiKey::from)
    .map_err(|error| match error.as_database_error().map(|e| e.is_foreign_key_violation()) {
        Some(true) => {
            let mut faults = Faults::default();
            faults.add("/app_id", "names no app");
            faults.into()
        }
        _ => error.into(),
    })
}

pub(crate) async fn list(pool: &PgPool, page: PageRequest) -> Result<Vec<ApiKey>, sqlx::Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        select id as "id: ApiKeyId", name, role, app_id as "app_id: AppId", prefix,
               created_at, expires_at, revoked_at, last_used_at
        from headgate.api_keys
        where $1::uuid is null or id < $1
        order by id desc
        limit $2
        "#,
        page.after,
        page.limit + 1,
    )
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().map(ApiKey::from).collect())
}

/// `None`: there is no such key, or it was revoked before.
pub(crate) async fn revoke(conn: &mut PgConnection, id: ApiKeyId) -> Result<Option<ApiKey>, sqlx::Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        update headgate.api_keys set revoked_at = clock_timestamp() where id = $1 and revoked_at is null
        returning id as "id: ApiKeyId", name, role, app_id as "app_id: AppId", prefix,
                  created_at, expires_at, revoked_at, last_used_at
        "#,
        id as ApiKeyId
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(ApiKey::from))
}

/// Revoked and expired ones too.
pub(crate) async fn exists(conn: &mut PgConnection, id: ApiKeyId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (select from headgate.api_keys where id = $1) as "exists!""#,
        id as ApiKeyId
    )
    .fetch_one(conn)
    .await
}
