//! What stands around a job on its page: the jobs of its serialize key and of its correlation id, and its next request.

use crate::{Headgate, ServiceError};
use insight::store::failures;
use insight::store::trail::{self, TrailKeys};
use model::actor::Scope;
use model::job::{Job, JobStatus};
use model::page::PageRequest;
use model::views::job_page::JobContext;
use queue::store::jobs;

/// Jobs of the same correlation id that are shown.
const MAX_CORRELATED: usize = 5;

impl Headgate {
    /// The jobs around a job, and what its next attempt would send.
    pub(super) async fn related_to(&self, scope: Scope, job: &Job) -> Result<JobContext, ServiceError> {
        let keys = TrailKeys {
            correlation_id: Some(job.last_correlation_id().to_owned()),
            app_id: Some(job.app_id),
            ..TrailKeys::default()
        };
        // One more than are shown, because the job itself is one of them.
        let page = PageRequest { limit: MAX_CORRELATED as i64 + 1, after: None };
        let found = trail::trail(&self.lists, scope, &keys, page).await?;
        let mut correlated: Vec<Job> =
            found.items.into_iter().map(|item| item.job).filter(|other| other.id != job.id).collect();
        let has_more = found.next_cursor.is_some() || correlated.len() > MAX_CORRELATED;
        correlated.truncate(MAX_CORRELATED);
        for other in &mut correlated {
            other.payload = None;
        }
        let line = match job.serialize_key {
            Some(_) => jobs::key_neighbours(&self.lists, job.id).await?,
            None => Vec::new(),
        };
        let sends = !matches!(job.status, JobStatus::Completed | JobStatus::Cancelled);
        let request = if sends { self.delivery.preview(job).await? } else { None };
        let same_cause = match job.status {
            JobStatus::ToBeRetried | JobStatus::Retrying | JobStatus::Failed => {
                failures::same_cause(&self.lists, scope, job.id).await?
            }
            _ => None,
        };
        Ok(JobContext { line, correlated, has_more, request, same_cause })
    }
}
