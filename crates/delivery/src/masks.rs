//! Which fields of an app's data are masked, by the settings of the deployment and of the app's integrations.

use model::actor::{Actor, Scope};
use model::filter::JobFilter;
use model::id::AppId;
use model::problem::Faults;
use model::rules::masking::{Masking, Masks, Sensitive, may_know_workers};
use model::rules::permission::{Permission, is_allowed};

use crate::{Delivery, DeliveryError, store};

impl Delivery {
    /// How data of these apps is masked. When this fails, nothing may be shown.
    pub async fn masks(&self, mut app_ids: Vec<AppId>) -> Result<Masks, DeliveryError> {
        app_ids.sort_unstable();
        app_ids.dedup();
        let everywhere = || self.config.masked_fields.iter().map(String::as_str);
        let mut masks = Masks { everywhere: Masking::new(everywhere()), ..Masks::default() };
        if app_ids.is_empty() {
            return Ok(masks);
        }
        for (app_id, fields) in store::masks::marked(&self.pool, &app_ids).await? {
            let masking = Masking::new(everywhere().chain(fields.iter().map(String::as_str)));
            masks.by_app.insert(app_id, masking);
        }
        Ok(masks)
    }

    /// Masks data as far as this actor may not see it.
    pub async fn shown_to<T: Sensitive>(&self, actor: &Actor, mut what: T) -> Result<T, DeliveryError> {
        what.hide_internals(actor.role);
        if is_allowed(actor.role, Permission::ReadUnmasked) {
            return Ok(what);
        }
        Ok(self.masked(what).await?.0)
    }

    /// Masks all secrets in the data; returns also how many values those were.
    pub async fn masked<T: Sensitive>(&self, mut what: T) -> Result<(T, usize), DeliveryError> {
        let masks = self.masks(what.app_ids()).await?;
        let masked = what.mask(&masks);
        Ok((what, masked))
    }

    /// A filter as an actor may use it: its results must not reveal whether a guess at a masked value is right. It is refused when it asks for
    /// payload values that the actor sees masked, or for a worker that the actor may not see; errors are searched only as far as the actor
    /// sees them. Every list, count and bulk action with an actor's filter calls this first. `place` is the prefix of payload paths in faults:
    /// `payload.` in a query, `/filter/payload/` in a body.
    ///
    /// # Errors
    /// `Invalid` with each path, and with `worker_id`.
    pub async fn filter_for(
        &self,
        actor: &Actor,
        filter: &JobFilter,
        place: &str,
    ) -> Result<JobFilter, DeliveryError> {
        if filter.worker_id.is_some() && !may_know_workers(actor.role) {
            let mut faults = Faults::default();
            faults.add("worker_id", "is not visible to your role: jobs cannot be found by it; remove it");
            faults.into_result()?;
        }
        if is_allowed(actor.role, Permission::ReadUnmasked) {
            return Ok(JobFilter { masked_names: None, ..filter.clone() });
        }
        let (filter, hidden) = self.restrict_to_visible(actor.scope(), filter).await?;
        let mut faults = Faults::default();
        for path in hidden {
            faults.add(
                format!("{place}{path}"),
                "is masked: jobs cannot be found by it; remove it, or ask an operator",
            );
        }
        faults.into_result()?;
        Ok(filter)
    }

    /// A filter that searches errors only as far as everybody may see them, and those of its payload paths whose values are masked in data
    /// that it may find.
    pub async fn restrict_to_visible(
        &self,
        scope: Scope,
        filter: &JobFilter,
    ) -> Result<(JobFilter, Vec<String>), DeliveryError> {
        let mut filter = JobFilter { masked_names: None, ..filter.clone() };
        if filter.payload.is_none() && filter.error.is_none() {
            return Ok((filter, Vec::new()));
        }
        let marked = store::masks::marked_within(&self.pool, scope, &filter).await?;
        let masking = Masking::new(self.config.masked_fields.iter().chain(&marked).map(String::as_str));
        if filter.error.is_some() {
            filter.masked_names = Some(masking.names_in_texts());
        }
        let hidden =
            filter.payload.iter().flat_map(|asked| masking.hidden(asked)).map(str::to_owned).collect();
        Ok((filter, hidden))
    }
}
