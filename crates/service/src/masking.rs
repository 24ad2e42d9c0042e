//! Masking: what an actor may see, and by what they may filter.

use crate::{Headgate, ServiceError};
use insight::store::stats;
use model::actor::{Actor, Role, Scope};
use model::filter::{JobFilter, PayloadMatch};
use model::operation::Operation;
use model::problem::Faults;
use model::rules::masking::Sensitive;
use model::rules::permission::{Permission, is_allowed};
use std::collections::BTreeSet;

impl Headgate {
    /// `what`, without what the actor may not see.
    pub(crate) async fn shown<T: Sensitive>(&self, actor: &Actor, what: T) -> Result<T, ServiceError> {
        Ok(self.delivery.shown_to(actor, what).await?)
    }

    /// `what` with every secret masked, whoever asks: the console shows them after a step of its own (`reveal.rs`).
    pub(crate) async fn masked<T: Sensitive>(&self, what: T) -> Result<T, ServiceError> {
        Ok(self.delivery.masked(what).await?.0)
    }

    /// An operation, without what the actor may not see.
    pub(crate) async fn shown_operation(
        &self,
        actor: &Actor,
        operation: Operation,
    ) -> Result<Operation, ServiceError> {
        let asked = self.asked_values(actor.role, &operation).await?;
        let mut shown = self.shown(actor, operation).await?;
        shown.filter.payload = asked;
        Ok(shown)
    }

    /// The payload values of an operation's filter, of which a role sees those that it sees in payloads. (As internals of the deployment they are
    /// all masked: what is shown without this shows none.)
    pub(crate) async fn asked_values(
        &self,
        role: Role,
        operation: &Operation,
    ) -> Result<Option<PayloadMatch>, ServiceError> {
        let mut asked = operation.filter.payload.clone();
        if let Some(asked) = &mut asked
            && !is_allowed(role, Permission::ReadUnmasked)
        {
            asked.mask_paths(&self.masked_paths(&operation.filter).await?);
            // Read after the masks, so that it notices a deletion in between.
            if self.has_lost_masks(operation).await? {
                asked.mask();
            }
        }
        Ok(asked)
    }

    /// The payload paths of a kept filter whose values are masked in data that it may find. When the masks cannot be read, nothing may be shown.
    pub(crate) async fn masked_paths(&self, filter: &JobFilter) -> Result<Vec<String>, ServiceError> {
        Ok(self.delivery.restrict_to_visible(Scope::AllApps, filter).await?.1)
    }

    /// Whether an app or an integration that an operation was about is deleted: what it had masked is not known any more.
    async fn has_lost_masks(&self, operation: &Operation) -> Result<bool, ServiceError> {
        let Operation { filter, breakdown, .. } = operation;
        let found = breakdown.iter().map(|part| part.integration_id);
        let ids: BTreeSet<_> = found.chain(filter.integration_id).collect();
        let ids: Vec<_> = ids.into_iter().collect();
        // An app has at least its built-in integration.
        let left = stats::names(self.pool(), Scope::AllApps, &ids, filter.app_id).await?;
        let has_app = filter.app_id.is_none_or(|id| left.values().any(|name| name.app_id == id));
        Ok(!has_app || ids.iter().any(|id| !left.contains_key(id)))
    }

    /// The filter of a list of jobs, restricted to what the actor may filter by.
    ///
    /// # Errors
    /// Faults of the filter; what the actor may not filter by.
    pub(crate) async fn permitted_filter(
        &self,
        actor: &Actor,
        filter: &JobFilter,
    ) -> Result<JobFilter, ServiceError> {
        filter.check()?;
        refuse_internal_fields(filter, "")?;
        Ok(self.delivery.filter_for(actor, filter, "payload.").await?)
    }

    /// The same for a list of dead letters.
    ///
    /// # Errors
    /// As for jobs.
    pub(crate) async fn permitted_dead_letter_filter(
        &self,
        actor: &Actor,
        filter: &JobFilter,
    ) -> Result<JobFilter, ServiceError> {
        filter.check_of_dead_letters()?;
        self.permitted_filter(actor, filter).await
    }
}

/// Refuses the field of a filter that only Headgate sets. `place` is the prefix of its path in faults.
pub(crate) fn refuse_internal_fields(filter: &JobFilter, place: &str) -> Result<(), Faults> {
    let mut faults = Faults::default();
    faults.require(filter.masked_names.is_none(), &format!("{place}masked_names"), "is not known here");
    faults.into_result()
}
