//! Composes the page of a job.

use crate::{Allowed, Headgate, ServiceError, permission};
use insight::store::{explain::explain, stats};
use model::id::JobId;
use model::views::job_page::{JobPage, Secrets};
use queue::store::{clock, jobs};

impl Headgate {
    /// A job with everything its page shows. Its secrets are masked unless the reader asks for them and their reveal is valid.
    ///
    /// # Errors
    /// No such job.
    pub async fn job_page(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        id: JobId,
        secrets: Secrets,
    ) -> Result<JobPage, ServiceError> {
        let (lists, scope) = (&self.lists, actor.scope());
        let as_of = clock::now(lists).await?;
        let detail = jobs::get(lists, scope, id).await?;
        let explanation = explain(lists, scope, id).await?;
        let record = self.record_of(scope, &detail.job).await?;
        let gauge = stats::gauge(lists, scope, detail.job.integration_id).await.ok();
        let revealed_until = match secrets {
            Secrets::Masked => None,
            Secrets::Revealed => self.revealed_until(actor, id).await?,
        };
        let related = self.related_to(scope, &detail.job).await?;
        let page = JobPage { detail, explanation, record, gauge, related, masked: 0, revealed_until, as_of };
        if revealed_until.is_some() { Ok(page) } else { self.masked_page(page, actor.role).await }
    }
}
