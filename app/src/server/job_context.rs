//! What the page of a job shows besides the job.

use super::ConsoleContext;
use crate::calls::{error::CallError, jobs::JobContext};
use insight::store::trail::{self, TrailKeys};
use model::{
    actor::Scope,
    job::{Job, JobStatus},
    page::PageRequest,
};
use queue::store::jobs;

/// Jobs of the same correlation id that are shown.
const MAX_CORRELATED: usize = 5;

pub async fn of(cx: &ConsoleContext, scope: Scope, job: &Job) -> Result<JobContext, CallError> {
    let keys = TrailKeys {
        correlation_id: Some(job.last_correlation_id().to_owned()),
        app_id: Some(job.app_id),
        ..TrailKeys::default()
    };
    // One more than are shown, because the job itself is one of them.
    let page = PageRequest { limit: MAX_CORRELATED as i64 + 1, after: None };
    let found = trail::trail(&cx.pool, scope, &keys, page).await?;
    let mut correlated: Vec<Job> =
        found.items.into_iter().map(|item| item.job).filter(|other| other.id != job.id).collect();
    let has_more = found.next_cursor.is_some() || correlated.len() > MAX_CORRELATED;
    correlated.truncate(MAX_CORRELATED);
    for other in &mut correlated {
        other.payload = None;
    }
    let line =
        if job.serialize_key.is_some() { jobs::key_neighbours(&cx.pool, job.id).await? } else { Vec::new() };
    let sends = !matches!(job.status, JobStatus::Completed | JobStatus::Cancelled);
    let request = if sends { cx.delivery.preview(job).await? } else { None };
    Ok(JobContext { line, correlated, has_more, request })
}
