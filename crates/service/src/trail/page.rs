//! The trail as the console's page shows it.

use crate::{Allowed, Headgate, ServiceError, permission};
use chrono::Utc;
use model::{filter::JobFilter, page::PageRequest, trail::TrailQuery, views::trail::TrailPage};

impl Headgate {
    /// The trail as the records page shows it: without payloads and attributes, with secrets masked.
    ///
    /// # Errors
    /// A text that is empty or too long; a search that takes too long.
    pub async fn trail_page(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        query: &TrailQuery,
        page: PageRequest,
    ) -> Result<TrailPage, ServiceError> {
        let mut trail = self.look_up(actor.scope(), query, page).await?;
        // Payloads and attributes may have a megabyte each; only the pages of jobs show them.
        trail.items.iter_mut().for_each(|item| item.job.payload = None);
        trail.apps.iter_mut().flat_map(|app| &mut app.failures).for_each(|letter| letter.payload = None);
        trail.records.iter_mut().for_each(|record| record.record.record.attributes.clear());
        let trail = self.with_gauges(self.masked(trail).await?).await?;
        let names = self.names(actor.scope(), trail.integration_ids(), &JobFilter::default()).await?;
        Ok(TrailPage { trail: Some(trail), names, as_of: Utc::now() })
    }
}
