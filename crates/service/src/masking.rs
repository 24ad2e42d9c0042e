//! Masking: what an actor may see, and by what they may filter.

use crate::{Headgate, ServiceError};
use model::{actor::Actor, filter::JobFilter, problem::Faults, rules::masking::Sensitive};

impl Headgate {
    /// `what`, without what the actor may not see.
    pub(crate) async fn shown<T: Sensitive>(&self, actor: &Actor, what: T) -> Result<T, ServiceError> {
        Ok(self.delivery.shown_to(actor, what).await?)
    }

    /// `what` with every secret masked, whoever asks: the console shows them after a step of its own (`reveal.rs`).
    pub(crate) async fn masked<T: Sensitive>(&self, what: T) -> Result<T, ServiceError> {
        Ok(self.delivery.masked(what).await?.0)
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
