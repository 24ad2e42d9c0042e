//! Lists of dead letters: by time, by cause, as a grid, and the bin.

use crate::{Allowed, Headgate, ServiceError, permission, read_in_parts};
use chrono::Utc;
use insight::store::dead_letters;
use model::dead_letter::{BinPageRequest, BinnedLetter, DeadLetter, DeadLetterGroup, GroupPageRequest};
use model::dead_letter_grid::{DeadLetterGrid, GridPageRequest};
use model::filter::JobFilter;
use model::page::{Page, PageRequest};
use model::views::dead_letters::{Bin, DeadLetterList};

impl Headgate {
    /// Dead letters, newest first, each with its failure history.
    ///
    /// # Errors
    /// Faults of the filter; what the actor may not filter by.
    pub async fn dead_letters(
        &self,
        actor: &Allowed<permission::Read>,
        filter: &JobFilter,
        page: PageRequest,
    ) -> Result<Page<DeadLetter>, ServiceError> {
        let filter = self.permitted_dead_letter_filter(actor, filter).await?;
        let read = |page| dead_letters::list(&self.lists, actor.scope(), &filter, page);
        self.shown(actor, read_in_parts(page, read).await?).await
    }

    /// Numbers of dead letters by integration and error, the largest first.
    ///
    /// # Errors
    /// As [`Self::dead_letters`].
    pub async fn dead_letter_groups(
        &self,
        actor: &Allowed<permission::Read>,
        filter: &JobFilter,
        page: &GroupPageRequest,
    ) -> Result<Page<DeadLetterGroup>, ServiceError> {
        let filter = self.permitted_dead_letter_filter(actor, filter).await?;
        self.shown(actor, dead_letters::groups(&self.lists, actor.scope(), &filter, page).await?).await
    }

    /// The console's page of dead letters, with a part of the grid.
    ///
    /// # Errors
    /// The filter needs another one; what the actor may not filter by.
    pub async fn dead_letter_list(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        filter: &JobFilter,
        page: PageRequest,
        part: GridPageRequest,
    ) -> Result<DeadLetterList, ServiceError> {
        let scope = actor.scope();
        let filter = &self.delivery.filter_for(actor, filter, "payload.").await?;
        let page = dead_letters::list_without_payloads(&self.lists, scope, filter, page).await?;
        let page = self.masked(page).await?;
        let grid = match dead_letters::grid(&self.lists, scope, filter, part).await? {
            Some(grid) => Some(self.masked(grid).await?),
            None => None,
        };
        let in_grid: Vec<_> = grid.iter().flat_map(DeadLetterGrid::integrations).collect();
        let rows = page.items.iter().map(|letter| letter.integration_id).chain(in_grid);
        let names = self.names(scope, rows, filter).await?;
        let choices = self.choices(filter.app_id, filter.integration_id).await?;
        Ok(DeadLetterList { page, grid, names, choices, as_of: Utc::now() })
    }

    /// What was purged in the last 24 hours, newest first.
    pub async fn binned(
        &self,
        actor: &Allowed<permission::Read>,
        page: BinPageRequest,
    ) -> Result<Page<BinnedLetter>, ServiceError> {
        let read = |page| dead_letters::binned(&self.lists, actor.scope(), page);
        self.shown(actor, read_in_parts(page, read).await?).await
    }

    /// The console's page of the bin.
    pub async fn bin(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        page: BinPageRequest,
    ) -> Result<Bin, ServiceError> {
        let mut page = dead_letters::binned(&self.lists, actor.scope(), page).await?;
        page.items.iter_mut().for_each(|binned| binned.letter.payload = None);
        let page = self.masked(page).await?;
        let rows = page.items.iter().map(|binned| binned.letter.integration_id);
        let names = self.names(actor.scope(), rows, &JobFilter::default()).await?;
        Ok(Bin { page, names, as_of: Utc::now() })
    }
}
