//! The secrets in a job's payload and answers, shown on demand: who wants to see them leaves a line first, and the line is what shows them.

use crate::{Steering, SteeringError};
use access::audit::{self, Entry};
use chrono::{DateTime, TimeDelta, Utc};
use model::{actor::Actor, id::JobId};
use queue::store::jobs;

/// How long a line shows its actor what it names.
const SHOWN_FOR: TimeDelta = TimeDelta::minutes(5);

impl Steering {
    /// Shows the actor what is masked of a job, for a while.
    ///
    /// # Errors
    /// No such job.
    pub async fn reveal_job(&self, actor: &Actor, id: JobId) -> Result<(), SteeringError> {
        let app_id = jobs::get(self.pool(), actor.scope(), id).await?.job.app_id;
        self.change(actor, async |tx| Ok((tx, (), line(id).of_app(app_id)))).await
    }

    /// Until when the actor may see it; none: nobody asked, or the time is over.
    ///
    /// # Errors
    /// The database's.
    pub async fn revealed_until(
        &self,
        actor: &Actor,
        id: JobId,
    ) -> Result<Option<DateTime<Utc>>, SteeringError> {
        let since = Utc::now() - SHOWN_FOR;
        let asked = audit::last_done(self.pool(), actor, &line(id), since).await?;
        Ok(asked.map(|at| at + SHOWN_FOR))
    }
}

fn line(id: JobId) -> Entry {
    Entry::new("job.reveal").about(id)
}
