//! Creating, changing and deleting apps.

use model::actor::Scope;
use model::app::{App, AppChanges, NewApp, slug_of};
use model::deletion::DeleteOptions;
use model::id::{AppId, OperationId};
use model::page::{Page, PageRequest};
use queue::QueueError;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::store::deletions::{self, NewDeletion};
use crate::{Delivery, DeliveryError, integrations, store};

/// So many slugs (`name`, `name-2` …) are tried before one with a random ending.
const NUMBERED_SLUGS: u32 = 5;

impl Delivery {
    /// Creates an app, and with it the built-in external integration `workers` for jobs that name none.
    ///
    /// # Errors
    /// Every fault of the input; `slug-taken`.
    pub async fn create_app(&self, conn: &mut PgConnection, new: NewApp) -> Result<App, DeliveryError> {
        new.check()?;
        let app = match &new.slug {
            Some(slug) => store::apps::insert(conn, AppId::generate(), &new.name, slug)
                .await?
                .ok_or_else(store::apps::slug_taken)?,
            None => insert_with_free_slug(conn, &new.name).await?,
        };
        integrations::create_built_in(self, conn, app.id).await?;
        Ok(app)
    }

    /// One app.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn app(&self, scope: Scope, id: AppId) -> Result<App, DeliveryError> {
        store::apps::get(&self.pool, scope, id).await
    }

    /// Lists apps, newest first.
    pub async fn apps(&self, scope: Scope, page: PageRequest) -> Result<Page<App>, DeliveryError> {
        store::apps::list(&self.pool, scope, page).await
    }

    /// Changes the fields that are given.
    ///
    /// # Errors
    /// Every fault of the input; `slug-taken`; `NotFound`.
    pub async fn update_app(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: AppId,
        changes: AppChanges,
    ) -> Result<App, DeliveryError> {
        changes.check()?;
        let updated_at = store::apps::lock(conn, scope, id).await?;
        changes.if_match.check(updated_at).map_err(QueueError::from)?;
        store::apps::update(conn, scope, id, changes.name.as_deref(), changes.slug.as_deref()).await
    }

    /// Deletes an app with its integrations. Their jobs and records are deleted after the commit, by the deletion with the returned id
    /// ([`crate::deletions`]).
    ///
    /// # Errors
    /// `NotFound`; `live-jobs` when there are live jobs that are not to be cancelled; the version was changed meanwhile.
    pub async fn delete_app(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: AppId,
        options: &DeleteOptions,
        requested_by: &str,
    ) -> Result<OperationId, DeliveryError> {
        let app = store::apps::lock_for_deletion(conn, scope, id).await?;
        options.if_match.check(app.updated_at).map_err(QueueError::from)?;
        let ids: Vec<Uuid> = app.integrations.iter().map(|(id, _)| id.0).collect();
        integrations::refuse_live_jobs(conn, &ids, options).await?;
        let deletion = NewDeletion {
            app_id: id,
            integration_id: None,
            integration_ids: &ids,
            name: &app.name,
            requested_by,
        };
        let deletion = deletions::begin(conn, &deletion).await?;
        for (integration, rate_limit_key) in &app.integrations {
            integrations::remove(conn, id, *integration, rate_limit_key.as_deref()).await?;
        }
        store::apps::delete(conn, id).await?;
        Ok(deletion)
    }
}

async fn insert_with_free_slug(conn: &mut PgConnection, name: &str) -> Result<App, DeliveryError> {
    let mut base = slug_of(name);
    if base.is_empty() {
        "app".clone_into(&mut base);
    }
    for n in 1..=NUMBERED_SLUGS {
        let slug = if n == 1 { base.clone() } else { format!("{base}-{n}") };
        if let Some(app) = store::apps::insert(conn, AppId::generate(), name, &slug).await? {
            return Ok(app);
        }
    }
    let ending = Uuid::now_v7().simple().to_string();
    store::apps::insert(conn, AppId::generate(), name, &format!("{base}-{}", &ending[20..]))
        .await?
        .ok_or_else(store::apps::slug_taken)
}
