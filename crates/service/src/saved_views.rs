//! Saved views of the list of jobs.

use crate::{Headgate, ServiceError};
use access::audit::Entry;
use insight::store::saved_views;
use model::{
    actor::{Actor, Scope},
    etag::IfMatch,
    filter::JobFilter,
    id::SavedViewId,
    problem::Faults,
    saved_view::{NewSavedView, SavedView, SavedViewChanges},
};
use queue::QueueError;

impl Headgate {
    /// Saves a view; `filter` is its parsed query.
    ///
    /// # Errors
    /// Faults by field.
    pub async fn save_view(
        &self,
        actor: &Actor,
        new: &NewSavedView,
        filter: &JobFilter,
    ) -> Result<SavedView, ServiceError> {
        new.check(actor).map_err(QueueError::from)?;
        let filter = &self.checked(filter).await?;
        self.change(actor, async |mut tx| {
            let view = saved_views::insert(&mut tx, actor.user_id(), new, filter).await?;
            let entry = Entry::new("saved_view.create").about(view.id).with(&shown(&view));
            Ok((tx, view, entry))
        })
        .await
    }

    /// Changes a view that the actor can see. Pins are personal and leave no audit line; everything else may only be changed by the owner and, in
    /// shared views, by operators. `filter` is given with a new query.
    ///
    /// # Errors
    /// No such view; `NotAllowed`; faults by field.
    pub async fn change_view(
        &self,
        actor: &Actor,
        id: SavedViewId,
        changes: &SavedViewChanges,
        filter: Option<&JobFilter>,
    ) -> Result<SavedView, ServiceError> {
        let viewer = actor.user_id();
        let mut conn = self.pool().acquire().await?;
        let view = saved_views::get(&mut conn, viewer, id).await?;
        drop(conn);
        changes.check(actor).map_err(QueueError::from)?;
        let filter = match filter {
            Some(filter) => Some(&self.checked(filter).await?),
            None => None,
        };
        if changes.is_pin_alone() {
            changes.if_match.check(view.updated_at).map_err(QueueError::from)?;
            let mut tx = self.pool().begin().await?;
            if let Some((user, is_pinned)) = viewer.zip(changes.is_pinned) {
                saved_views::pin(&mut tx, user, id, is_pinned).await?;
            }
            let view = saved_views::get(&mut tx, viewer, id).await?;
            tx.commit().await?;
            return Ok(view);
        }
        if !view.may_be_changed_by(actor.role) {
            return Err(ServiceError::beyond_role());
        }
        self.change(actor, async |mut tx| {
            if let Some((user, is_pinned)) = viewer.zip(changes.is_pinned) {
                saved_views::pin(&mut tx, user, id, is_pinned).await?;
            }
            let (before, after) = saved_views::change(&mut tx, viewer, id, changes, filter).await?;
            let entry = Entry::new("saved_view.update").about(id).changed(&shown(&before), &shown(&after));
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
        faults.into_result().map_err(QueueError::from)?;
        Ok(filter)
    }

    /// Deletes a view for all its users.
    ///
    /// # Errors
    /// No such view; `NotAllowed`; it was changed meanwhile.
    pub async fn delete_view(
        &self,
        actor: &Actor,
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
            let entry = Entry::new("saved_view.delete").about(id).without(&shown(&view));
            Ok((tx, (), entry))
        })
        .await
    }
}

/// What the audit log keeps of a view: its settings, not its count.
fn shown(view: &SavedView) -> impl serde::Serialize {
    serde_json::json!({
        "name": view.name,
        "query": view.query,
        "is_shared": view.is_shared,
        "alert_at": view.alert_at,
    })
}
