//! Apps: the tenants.

use chrono::{DateTime, Utc};
use model::actor::Scope;
use model::app::App;
use model::id::{AppId, IntegrationId};
use model::page::{Page, PageRequest};
use sqlx::{PgConnection, PgPool};

use crate::DeliveryError;

/// None when the slug is taken.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    id: AppId,
    name: &str,
    slug: &str,
) -> Result<Option<App>, DeliveryError> {
    let app = sqlx::query_as!(
        App,
        r#"
        insert into headgate.apps (id, name, slug) values ($1, $2, $3)
        on conflict (slug) do nothing
        returning id as "id: AppId", name, slug, created_at, updated_at
        "#,
        id as AppId,
        name,
        slug,
    )
    .fetch_optional(conn)
    .await?;
    Ok(app)
}

pub(crate) async fn get(pool: &PgPool, scope: Scope, id: AppId) -> Result<App, DeliveryError> {
    sqlx::query_as!(
        App,
        r#"
        select id as "id: AppId", name, slug, created_at, updated_at from headgate.apps
        where id = $1 and ($2::uuid is null or id = $2)
        "#,
        id as AppId,
        scope.app_id() as Option<AppId>,
    )
    .fetch_optional(pool)
    .await?
    .ok_or_else(|| DeliveryError::not_found("app"))
}

pub(crate) async fn list(pool: &PgPool, scope: Scope, page: PageRequest) -> Result<Page<App>, DeliveryError> {
    let apps = sqlx::query_as!(
        App,
        r#"
        select id as "id: AppId", name, slug, created_at, updated_at from headgate.apps
        where ($1::uuid is null or id = $1) and ($2::uuid is null or id < $2)
        order by id desc limit $3
        "#,
        scope.app_id() as Option<AppId>,
        page.after,
        page.limit + 1,
    )
    .fetch_all(pool)
    .await?;
    Ok(Page::from_surplus(apps, page.limit, |app| app.id.0))
}

/// Locks an app against other changes; returns when it was last changed.
pub(crate) async fn lock(
    conn: &mut PgConnection,
    scope: Scope,
    id: AppId,
) -> Result<DateTime<Utc>, DeliveryError> {
    sqlx::query_scalar!(
        "select updated_at from headgate.apps where id = $1 and ($2::uuid is null or id = $2) for no key update",
        id as AppId,
        scope.app_id() as Option<AppId>,
    )
    .fetch_optional(conn)
    .await?
    .ok_or_else(|| DeliveryError::not_found("app"))
}

pub(crate) async fn update(
    conn: &mut PgConnection,
    scope: Scope,
    id: AppId,
    name: Option<&str>,
    slug: Option<&str>,
) -> Result<App, DeliveryError> {
    let updated = sqlx::query_as!(
        App,
        r#"
        update headgate.apps
        set name = coalesce($3, name), slug = coalesce($4, slug), updated_at = clock_timestamp()
        where id = $1 and ($2::uuid is null or id = $2)
        returning id as "id: AppId", name, slug, created_at, updated_at
        "#,
        id as AppId,
        scope.app_id() as Option<AppId>,
        name,
        slug,
    )
    .fetch_optional(conn)
    .await;
    match updated {
        Err(error) if is_taken_slug(&error) => Err(slug_taken()),
        updated => updated?.ok_or_else(|| DeliveryError::not_found("app")),
    }
}

/// An app locked for its deletion.
pub(crate) struct LockedApp {
    pub(crate) name: String,
    pub(crate) updated_at: DateTime<Utc>,
    /// In the order in which they are locked, each with its `rate_limit_key`.
    pub(crate) integrations: Vec<(IntegrationId, Option<String>)>,
}

/// Locks the app against everything that would add to it.
pub(crate) async fn lock_for_deletion(
    conn: &mut PgConnection,
    scope: Scope,
    id: AppId,
) -> Result<LockedApp, DeliveryError> {
    let app = sqlx::query!(
        "select name, updated_at from headgate.apps where id = $1 and ($2::uuid is null or id = $2) for update",
        id as AppId,
        scope.app_id() as Option<AppId>,
    )
    .fetch_optional(&mut *conn)
    .await?
    .ok_or_else(|| DeliveryError::not_found("app"))?;
    let integrations = sqlx::query!(
        r#"
        select id as "id: IntegrationId", rate_limit_key from headgate.integrations where app_id = $1
        order by id for update
        "#,
        id as AppId,
    )
    .fetch_all(conn)
    .await?;
    Ok(LockedApp {
        name: app.name,
        updated_at: app.updated_at,
        integrations: integrations.into_iter().map(|row| (row.id, row.rate_limit_key)).collect(),
    })
}

pub(crate) async fn delete(conn: &mut PgConnection, id: AppId) -> Result<(), DeliveryError> {
    sqlx::query!("delete from headgate.record_count_deltas where app_id = $1", id as AppId)
        .execute(&mut *conn)
        .await?;
    sqlx::query!("delete from headgate.record_counts where app_id = $1", id as AppId)
        .execute(&mut *conn)
        .await?;
    sqlx::query!("delete from headgate.apps where id = $1", id as AppId).execute(conn).await?;
    Ok(())
}

pub(crate) fn slug_taken() -> DeliveryError {
    DeliveryError::Conflict { code: "slug-taken", detail: "another app has this slug".to_owned() }
}

fn is_taken_slug(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.constraint()) == Some("apps_slug_key")
}
