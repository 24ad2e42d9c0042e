//! Lists of jobs.

use crate::{Allowed, Headgate, ServiceError, permission, read_in_parts};
use chrono::Utc;
use insight::store::job_lists;
use model::filter::JobFilter;
use model::job::Job;
use model::page::{Page, PageRequest};
use model::rules::narrowing;
use model::views::job_list::{JobList, JobListQuery};

impl Headgate {
    /// Lists jobs with their payloads, newest first.
    ///
    /// # Errors
    /// Faults of the filter; what the actor may not filter by; a search that takes too long.
    pub async fn jobs(
        &self,
        actor: &Allowed<permission::ReadJobs>,
        filter: &JobFilter,
        page: PageRequest,
    ) -> Result<Page<Job>, ServiceError> {
        let filter = self.permitted_filter(actor, filter).await?;
        let read = |page| job_lists::list(&self.lists, actor.scope(), &filter, page);
        self.shown(actor, read_in_parts(page, read).await?).await
    }

    /// A page of the console's list of jobs. A filter that would search everything is answered, not an error.
    ///
    /// # Errors
    /// What the actor may not filter by; a search that takes too long.
    pub async fn job_list(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        query: JobListQuery,
    ) -> Result<JobList, ServiceError> {
        let JobListQuery { filter, page, order, columns, is_counted } = query;
        let (lists, scope) = (&self.lists, actor.scope());
        let filter = self.delivery.filter_for(actor, &filter, "payload.").await?;
        let refused: Vec<String> = match narrowing::check(&filter, Utc::now()) {
            Ok(()) => Vec::new(),
            Err(faults) => faults.0.into_iter().map(|fault| fault.pointer).collect(),
        };
        let (page, matched) = if !refused.is_empty() {
            (Page { items: Vec::new(), next_cursor: None }, None)
        } else if is_counted {
            job_lists::list_counted(lists, scope, &filter, page, order).await?
        } else {
            (job_lists::list_from(lists, scope, &filter, page, order).await?, None)
        };
        let page = self.masked(page).await?;
        let names = self.names(scope, page.items.iter().map(|job| job.integration_id), &filter).await?;
        let choices = self.choices(filter.app_id, filter.integration_id).await?;
        let may_turn = narrowing::may_begin_with_oldest(&filter);
        Ok(JobList { page, names, columns, choices, refused, matched, may_turn, as_of: Utc::now() })
    }
}
