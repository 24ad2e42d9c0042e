//! Saved views of the list of jobs: saved, changed, shared, pinned, deleted.

use crate::{Steering, SteeringError};
use access::audit::Entry;
use model::{
    actor::{Actor, Scope},
    etag::IfMatch,
    filter::JobFilter,
    id::SavedViewId,
    problem::Faults,
    saved_view::{NewSavedView, SavedView, SavedViewChanges},
};
use queue::{QueueError, store::saved_views};

impl Steering {
    /// Saves a view; `filter` is what its query narrows to.
    ///
    /// # Errors
    /// Faults by field.
    pub async fn save_view(
        &self,
        actor: &Actor,
        new: &NewSavedView,
        filter: &JobFilter,
    ) -> Result<SavedView, SteeringError> {
        new.check(actor).map_err(QueueError::from)?;
        let filter = &self.kept(filter).await?;
        self.change(actor, async |mut tx| {
            let view = saved_views::insert(&mut tx, actor.user_id(), new, filter).await?;
            let entry = Entry::new("saved_view.create").about(view.id).with(&shown(&view));
            Ok((tx, view, entry))
        })
        .await
    }

    /// Changes a view its actor sees. Pinning is everybody's own and leaves no line; anything else is for its owner and, of shared ones,
    /// operators. `filter` comes with a new query.
    ///
    /// # Errors
    /// No such view; not for this actor; faults by field.
    pub async fn change_view(
        &self,
        actor: &Actor,
        id: SavedViewId,
        changes: &SavedViewChanges,
        filter: Option<&JobFilter>,
    ) -> Result<SavedView, SteeringError> {
        let viewer = actor.user_id();
        let mut conn = self.pool().acquire().await?;
        let view = saved_views::get(&mut conn, viewer, id).await?;
        drop(conn);
        changes.check(actor).map_err(QueueError::from)?;
        let filter = match filter {
            Some(filter) => Some(&self.kept(filter).await?),
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
            return Err(SteeringError::NotAllowed);
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

    /// Whoever saves it: a view's filters are written in it and its count is kept, for others to read.
    async fn kept(&self, filter: &JobFilter) -> Result<JobFilter, SteeringError> {
        let (filter, hidden) = self.delivery.without_guesses(Scope::AllApps, filter).await?;
        let mut faults = Faults::default();
        for path in hidden {
            faults.add("/query", format!("asks for payload.{path}, which is masked: no view keeps it"));
        }
        faults.into_result().map_err(QueueError::from)?;
        Ok(filter)
    }

    /// Deletes a view, for everybody who saw it.
    ///
    /// # Errors
    /// No such view; not for this actor; it was changed meanwhile.
    pub async fn delete_view(
        &self,
        actor: &Actor,
        id: SavedViewId,
        if_match: &IfMatch,
    ) -> Result<(), SteeringError> {
        self.change(actor, async |mut tx| {
            saved_views::hold(&mut tx, id).await?;
            let view = saved_views::get(&mut tx, actor.user_id(), id).await?;
            if !view.may_be_changed_by(actor.role) {
                return Err(SteeringError::NotAllowed);
            }
            if_match.check(view.updated_at).map_err(QueueError::from)?;
            saved_views::delete(&mut tx, &view).await?;
            let entry = Entry::new("saved_view.delete").about(id).without(&shown(&view));
            Ok((tx, (), entry))
        })
        .await
    }
}

/// What a line of the log holds of a view: its settings, not what was counted.
fn shown(view: &SavedView) -> impl serde::Serialize {
    serde_json::json!({
        "name": view.name,
        "query": view.query,
        "is_shared": view.is_shared,
        "alert_at": view.alert_at,
    })
}
