//! The trail as the API answers it, which reads its jobs in parts.

use crate::{Allowed, Headgate, ServiceError, permission, read_in_parts};
use model::page::{Page, PageRequest};
use model::trail::{Trail, TrailQuery, TrailReading};
use queue::mutex::lock;
use std::{mem, sync::Mutex};

impl Headgate {
    /// Finds everything that a text names, and a page of the jobs about it.
    ///
    /// # Errors
    /// A text that is empty or too long; a search that takes too long.
    pub async fn trail(
        &self,
        actor: &Allowed<permission::Read>,
        query: &TrailQuery,
        page: PageRequest,
    ) -> Result<Trail, ServiceError> {
        // Each part of the jobs looks the text up again. The last lookup is kept, with the readings of all parts, since those depend on the jobs.
        let found = &Mutex::new(Trail::default());
        let scope = actor.scope();
        let read = |page| async move {
            let mut trail = self.look_up(scope, query, page).await?;
            let part = Page { items: mem::take(&mut trail.items), next_cursor: trail.next_cursor.take() };
            let mut found = lock(found);
            let is_one =
                |reading: &TrailReading| found.readings.contains(reading) || trail.readings.contains(reading);
            trail.readings = TrailReading::ALL.iter().copied().filter(is_one).collect();
            *found = trail;
            Ok::<_, ServiceError>(part)
        };
        let Page { items, next_cursor } = read_in_parts(page, read).await?;
        let found = mem::take(&mut *lock(found));
        let trail = self.shown(actor, Trail { items, next_cursor, ..found }).await?;
        self.with_gauges(trail).await
    }

    /// The trail with its apps' integrations.
    pub(super) async fn with_gauges(&self, trail: Trail) -> Result<Trail, ServiceError> {
        if trail.apps.is_empty() {
            return Ok(trail);
        }
        Ok(trail.with_gauges(&*self.snapshot().await?))
    }
}
