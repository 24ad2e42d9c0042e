//! Saved views of the list of jobs.

use crate::{Allowed, Headgate, ServiceError, permission};
use access::audit::Entry;
use chrono::Utc;
use insight::store::saved_views;
use model::actor::{Actor, Scope};
use model::etag::IfMatch;
use model::filter::JobFilter;
use model::id::SavedViewId;
use model::problem::Faults;
use model::rules::permission::{Permission, is_allowed};
use model::saved_query::SavedQuery;
use model::saved_view::{NewSavedView, SavedView, SavedViewChanges};
use queue::QueueError;

impl Headgate {
    /// The views that the actor may see, pinned ones first.
    pub async fn saved_views(
        &self,
        actor: &Allowed<permission::OpenConsole>,
    ) -> Result<Vec<SavedView>, ServiceError> {
        let mut views = saved_views::list(&self.lists, actor.user_id()).await?;
        self.mask_views(actor, &mut views).await?;
        Ok(views)
    }

    /// Those of them that alert.
    pub(crate) async fn alerting_views(&self, actor: &Actor) -> Result<Vec<SavedView>, ServiceError> {
        let mut views = saved_views::alerting(&self.lists, actor.user_id()).await?;
        self.mask_views(actor, &mut views).await?;
        views.retain(|view| view.alerting_since.is_some());
        Ok(views)
    }

    /// A view that the actor may see.
    ///
    /// # Errors
    /// No such view.
    pub async fn saved_view(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        id: SavedViewId,
    ) -> Result<SavedView, ServiceError> {
        let view = self.find_view(actor, id).await?;
        self.masked_view(actor, view).await
    }

    async fn find_view(&self, actor: &Actor, id: SavedViewId) -> Result<SavedView, ServiceError> {
        let mut conn = self.pool().acquire().await?;
        Ok(saved_views::get(&mut conn, actor.user_id(), id).await?)
    }

    /// Saves a view.
    ///
    /// # Errors
    /// Faults by field.
    pub async fn save_view(
        &self,
        actor: &Allowed<permission::SaveViews>,
        mut new: NewSavedView,
    ) -> Result<SavedView, ServiceError> {
        let query = SavedQuery::parse(&new.query, Utc::now())?;
        new.query = query.text;
        new.check(actor)?;
        let (new, filter) = (&new, &self.checked(&query.filter).await?);
        self.change(actor, async |mut tx| {
            let view = saved_views::insert(&mut tx, actor.user_id(), new, filter).await?;
            let entry = Entry::new("saved_view.create").about(view.id).with(&audited(&view));
            Ok((tx, view, entry))
        })
        .await
    }

    /// Changes a view that the actor can see. Pins are personal and leave no audit line; everything else may only be changed by the owner and, in
    /// shared views, by operators.
    ///
    /// # Errors
    /// No such view; `NotAllowed`; faults by field.
    pub async fn change_view(
        &self,
        actor: &Allowed<permission::SaveViews>,
        id: SavedViewId,
        mut changes: SavedViewChanges,
    ) -> Result<SavedView, ServiceError> {
        let view = self.find_view(actor, id).await?;
        let is_pin_alone = changes.is_pin_alone();
        // Before the input is checked: who may not change the view cannot mend its faults either.
        if !is_pin_alone && !view.may_be_changed_by(actor.role) {
            return Err(ServiceError::beyond_role());
        }
        let query = changes.query.as_deref().map(|query| SavedQuery::parse(query, Utc::now())).transpose()?;
        let filter = query.map(|query| {
            changes.query = Some(query.text);
            query.filter
        });
        changes.check(actor)?;
        let filter = match filter {
            Some(filter) => Some(self.checked(&filter).await?),
            None => None,
        };
        let view = if is_pin_alone {
            changes.if_match.check(view.updated_at).map_err(QueueError::from)?;
            self.pin_view(actor, id, changes.is_pinned).await?
        } else {
            if filter.is_none() {
                self.check_threshold(actor, &view, &changes).await?;
            }
            self.update_view(actor, id, &changes, filter.as_ref()).await?
        };
        self.masked_view(actor, view).await
    }

    async fn pin_view(
        &self,
        actor: &Actor,
        id: SavedViewId,
        is_pinned: Option<bool>,
    ) -> Result<SavedView, ServiceError> {
        let viewer = actor.user_id();
        let mut tx = self.pool().begin().await?;
        if let Some((user, is_pinned)) = viewer.zip(is_pinned) {
            saved_views::pin(&mut tx, user, id, is_pinned).await?;
        }
        let view = saved_views::get(&mut tx, viewer, id).await?;
        tx.commit().await?;
        Ok(view)
    }

    async fn update_view(
        &self,
        actor: &Actor,
        id: SavedViewId,
        changes: &SavedViewChanges,
        filter: Option<&JobFilter>,
    ) -> Result<SavedView, ServiceError> {
        let viewer = actor.user_id();
        self.change(actor, async |mut tx| {
            if let Some((user, is_pinned)) = viewer.zip(changes.is_pinned) {
                saved_views::pin(&mut tx, user, id, is_pinned).await?;
            }
            let (before, after) = saved_views::change(&mut tx, viewer, id, changes, filter).await?;
            let entry =
                Entry::new("saved_view.update").about(id).changed(&audited(&before), &audited(&after));
            Ok((tx, after, entry))
        })
        .await
    }

    /// Refuses conditions on masked values, whoever saves the view: others can read its filter and its count.
    async fn checked(&self, filter: &JobFilter) -> Result<JobFilter, ServiceError> {
        let (filter, hidden) = self.delivery.restrict_to_visible(Scope::AllApps, filter).await?;
        let mut faults = Faults::default();
        for path in hidden {
            faults.add("/query", format!("asks for payload.{path}, which is masked: a view cannot use it"));
        }
        faults.into_result()?;
        Ok(filter)
    }

    /// Refuses another threshold of a view that the actor sees masked, as its filter is refused: alerts from one threshold after another would
    /// count its jobs.
    async fn check_threshold(
        &self,
        actor: &Actor,
        view: &SavedView,
        changes: &SavedViewChanges,
    ) -> Result<(), ServiceError> {
        let is_another = changes.alert_at.set().is_some_and(|at| Some(*at) != view.alert_at);
        if !is_another || is_allowed(actor.role, Permission::ReadUnmasked) {
            return Ok(());
        }
        if let Ok(filter) = SavedQuery::filter_of(&view.query) {
            self.checked(&filter).await?;
        }
        Ok(())
    }

    async fn masked_view(&self, actor: &Actor, view: SavedView) -> Result<SavedView, ServiceError> {
        let mut views = [view];
        self.mask_views(actor, &mut views).await?;
        let [view] = views;
        Ok(view)
    }

    /// Masks the payload values of views that ask for one which was masked after the view was saved, and removes their counts, for readers who see
    /// it masked. When the masks cannot be read, nothing is shown.
    pub(crate) async fn mask_views(
        &self,
        actor: &Actor,
        views: &mut [SavedView],
    ) -> Result<(), ServiceError> {
        if is_allowed(actor.role, Permission::ReadUnmasked) {
            return Ok(());
        }
        for view in views {
            let is_masked = match SavedQuery::filter_of(&view.query) {
                Ok(filter) if filter.payload.is_none() => false,
                Ok(filter) => !self.masked_paths(&filter).await?.is_empty(),
                // Saved by a newer version: what it asks for is not known.
                Err(_) => true,
            };
            if is_masked {
                view.query = SavedQuery::masked(&view.query);
                (view.count, view.is_too_wide, view.alerting_since) = (None, false, None);
            }
        }
        Ok(())
    }

    /// Deletes a view for all its users.
    ///
    /// # Errors
    /// No such view; `NotAllowed`; it was changed meanwhile.
    pub async fn delete_view(
        &self,
        actor: &Allowed<permission::SaveViews>,
        id: SavedViewId,
        if_match: &IfMatch,
    ) -> Result<(), ServiceError> {
        self.change(actor, async |mut tx| {
            saved_views::lock_view(&mut tx, id).await?;
            let view = saved_views::get(&mut tx, actor.user_id(), id).await?;
            if !view.may_be_changed_by(actor.role) {
                return Err(ServiceError::beyond_role());
            }
            if_match.check(view.updated_at).map_err(QueueError::from)?;
            saved_views::delete(&mut tx, &view).await?;
            let entry = Entry::new("saved_view.delete").about(id).without(&audited(&view));
            Ok((tx, (), entry))
        })
        .await
    }
}

/// What the audit log keeps of a view: its settings, not its count.
fn audited(view: &SavedView) -> impl serde::Serialize {
    serde_json::json!({
        "name": view.name,
        "query": view.query,
        "is_shared": view.is_shared,
        "alert_at": view.alert_at,
    })
}
