//! Masked secrets of a job's payload and answers, shown on demand. Whoever asks leaves a line in the audit log, and that line is what grants it.

use crate::{Allowed, Headgate, ServiceError, permission};
use access::audit::{self, Entry};
use chrono::{DateTime, TimeDelta, Utc};
use model::actor::Actor;
use model::id::JobId;
use model::rules::permission::{Permission, is_allowed};
use queue::store::jobs;

/// How long a line grants it to its actor.
const SHOWN_FOR: TimeDelta = TimeDelta::minutes(5);

impl Headgate {
    /// Shows the actor what is masked of a job, for five minutes.
    ///
    /// # Errors
    /// No such job.
    pub async fn reveal_job(
        &self,
        actor: &Allowed<permission::ReadUnmasked>,
        id: JobId,
    ) -> Result<(), ServiceError> {
        let app_id = jobs::get(self.pool(), actor.scope(), id).await?.job.app_id;
        self.change(actor, async |tx| Ok((tx, (), line(id).of_app(app_id)))).await
    }

    /// Until when the actor may see it. `None`: not asked for, the time is over, or the role does not allow it any more.
    pub(crate) async fn revealed_until(
        &self,
        actor: &Actor,
        id: JobId,
    ) -> Result<Option<DateTime<Utc>>, ServiceError> {
        if !is_allowed(actor.role, Permission::ReadUnmasked) {
            return Ok(None);
        }
        let since = Utc::now() - SHOWN_FOR;
        let revealed_at = audit::last_done(self.pool(), actor, &line(id), since).await?;
        Ok(revealed_at.map(|at| at + SHOWN_FOR))
    }
}

fn line(id: JobId) -> Entry {
    Entry::new("job.reveal").about(id)
}
