//! What may not be shown of an app's data, put together from the deployment's settings and its integrations'.

use model::{
    actor::{Actor, Scope},
    filter::JobFilter,
    id::AppId,
    problem::Faults,
    rules::{
        masking::{Masking, Masks, Sensitive, may_know_workers},
        permission::{Permission, is_allowed},
    },
};

use crate::{Delivery, DeliveryError, store};

impl Delivery {
    /// How data of these apps is masked.
    ///
    /// # Errors
    /// When the database cannot be asked: then nothing may be shown.
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

    /// As this actor may see it.
    ///
    /// # Errors
    /// As with [`Self::masks`].
    pub async fn shown_to<T: Sensitive>(&self, actor: &Actor, mut what: T) -> Result<T, DeliveryError> {
        what.keep_inside_from(actor.role);
        if is_allowed(actor.role, Permission::ReadUnmasked) {
            return Ok(what);
        }
        Ok(self.masked(what).await?.0)
    }

    /// The same without what is secret in it, and how many values that were.
    ///
    /// # Errors
    /// As with [`Self::masks`].
    pub async fn masked<T: Sensitive>(&self, mut what: T) -> Result<(T, usize), DeliveryError> {
        let masks = self.masks(what.app_ids()).await?;
        let masked = what.mask(&masks);
        Ok((what, masked))
    }

    /// A filter as an actor may ask it: what it finds, lists, counts and changes must not say whether a guess at a masked value is right. By
    /// the payload's values that the actor reads masked, and by the worker that they are not told of, it is refused; errors are looked through as far as the actor reads them. Every
    /// list, count and bulk action that an actor narrows asks here first. `place` leads to the payload's paths: `payload.` in a query,
    /// `/filter/payload/` in a body.
    ///
    /// # Errors
    /// `Invalid` with each path; as with [`Self::masks`].
    pub async fn filter_for(
        &self,
        actor: &Actor,
        filter: &JobFilter,
        place: &str,
    ) -> Result<JobFilter, DeliveryError> {
        if filter.worker_id.is_some() && !may_know_workers(actor.role) {
            let mut faults = Faults::default();
            faults.add("worker_id", "is not yours to see: jobs cannot be found by it; take it out");
            faults.into_result()?;
        }
        if is_allowed(actor.role, Permission::ReadUnmasked) {
            return Ok(JobFilter { masked_names: None, ..filter.clone() });
        }
        let (filter, hidden) = self.without_guesses(actor.scope(), filter).await?;
        let mut faults = Faults::default();
        for path in hidden {
            faults.add(
                format!("{place}{path}"),
                "is masked: jobs cannot be found by it; take it out, or ask an operator",
            );
        }
        faults.into_result()?;
        Ok(filter)
    }

    /// A filter that looks through errors as far as all may read them, and the payload's paths it asks for although their values are masked
    /// in data that it may find.
    ///
    /// # Errors
    /// As with [`Self::masks`].
    pub async fn without_guesses(
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
