//! All dead letters that match, for a file: read in portions, so that the memory of an export is bounded.

use crate::{Allowed, Headgate, ServiceError, permission};
use model::dead_letter::DeadLetter;
use model::filter::JobFilter;
use model::page::{Page, PageRequest};

/// Dead letters read at once: each may have a megabyte.
const PORTION: i64 = 50;

/// An export in progress.
pub struct DeadLetterExport {
    headgate: Headgate,
    actor: Allowed<permission::Read>,
    filter: JobFilter,
    read: Option<Page<DeadLetter>>,
}

impl Headgate {
    /// Begins an export, newest first. The first portion is read at once, so that a filter that is too wide is an error and not a broken file.
    ///
    /// # Errors
    /// Faults of the filter; what the actor may not filter by.
    pub async fn export_dead_letters(
        &self,
        actor: &Allowed<permission::Read>,
        filter: &JobFilter,
    ) -> Result<DeadLetterExport, ServiceError> {
        let filter = self.permitted_dead_letter_filter(actor, filter).await?;
        let mut export =
            DeadLetterExport { headgate: self.clone(), actor: actor.clone(), filter, read: None };
        export.read = Some(export.page(PageRequest { limit: PORTION, after: None }).await?);
        Ok(export)
    }
}

impl DeadLetterExport {
    /// The next portion. `None`: there are no more.
    ///
    /// # Errors
    /// Those of a list.
    pub async fn next(&mut self) -> Result<Option<Vec<DeadLetter>>, ServiceError> {
        let Some(page) = self.read.take() else { return Ok(None) };
        if let Some(following) = page.following(PORTION) {
            self.read = Some(self.page(following).await?);
        }
        Ok(Some(page.items))
    }

    async fn page(&self, page: PageRequest) -> Result<Page<DeadLetter>, ServiceError> {
        let Headgate { lists, .. } = &self.headgate;
        let page = insight::store::dead_letters::list(lists, self.actor.scope(), &self.filter, page).await?;
        self.headgate.shown(&self.actor, page).await
    }
}
