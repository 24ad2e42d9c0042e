//! A job as it is now: pushed on each change, and loaded again for what is not pushed.

use crate::calls::jobs::load_job;
use crate::state::{opened, refresh};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::attempt::Attempt;
use model::job::{FoldedChange, Job, JobStatus, Progress};
use model::opened::{ExplainedJob, LiveUpdate, Opened};
use model::request::RequestPreview;
use model::rules::explain::Explanation;
use model::views::job_page::{JobContext, JobPage, JobRecord};
use serde_json::Value;
use std::time::Duration;

/// The parts of the page, each with a signal of its own, so that a change draws only what it changes.
#[derive(Clone, Copy)]
pub struct LiveJob {
    pub job: Memo<Job>,
    pub status: Memo<JobStatus>,
    pub attempts: Memo<Vec<Attempt>>,
    pub progress: Memo<Option<Progress>>,
    pub folded_changes: Memo<Vec<FoldedChange>>,
    pub payload: Memo<Option<Value>>,
    pub related: Memo<JobContext>,
    /// How many values are masked, and until when they are shown to this reader.
    pub masking: Memo<(u32, Option<DateTime<Utc>>)>,
    pub result: Memo<Option<Value>>,
    pub explanation: Memo<Explanation>,
    pub record: Memo<Option<JobRecord>>,
    pub request: Memo<Option<RequestPreview>>,
}

impl LiveJob {
    /// Begins with the page as it was loaded.
    pub fn follow(page: JobPage) -> Self {
        let id = page.detail.job.id;
        let is_live = page.detail.job.status.is_live();
        let is_revealed = page.revealed_until.is_some();
        // Pushed jobs have their secrets masked, so a page with revealed secrets polls instead.
        let pushed = (!is_revealed).then(|| opened::follow::<ExplainedJob>(Opened::Job(id)));
        let period = Duration::from_secs(if is_revealed { 2 } else { 10 });
        // The context of a finished job does not change.
        let newer = if is_live {
            refresh::every(period, move || load_job(id, is_revealed))
        } else {
            RwSignal::new(None)
        };
        let loaded = Memo::new(move |_| newer.with(|newer| newer.clone().unwrap_or_else(|| page.clone())));
        let page = Memo::new(move |_| {
            let loaded = loaded.get();
            match pushed.and_then(|pushed| pushed.get()) {
                Some(LiveUpdate { at, now: ExplainedJob { detail, explanation } }) if at >= loaded.as_of => {
                    JobPage { detail, explanation, ..loaded }
                }
                _ => loaded,
            }
        });
        let job = Memo::new(move |_| page.with(|p| p.detail.job.clone()));
        let attempts = Memo::new(move |_| page.with(|p| p.detail.attempts.clone()));
        let progress = Memo::new(move |_| page.with(|p| p.detail.progress.clone()));
        let folded_changes = Memo::new(move |_| page.with(|p| p.detail.twins.clone()));
        let payload = Memo::new(move |_| page.with(|p| p.detail.job.payload.clone()));
        let related = Memo::new(move |_| page.with(|p| p.related.clone()));
        let masking = Memo::new(move |_| page.with(|p| (p.masked, p.revealed_until)));
        let result = Memo::new(move |_| page.with(|p| p.detail.result.clone()));
        let explanation = Memo::new(move |_| page.with(|p| p.explanation.clone()));
        let record = Memo::new(move |_| page.with(|p| p.record.clone()));
        let changes_now = Memo::new(move |_| page.with(changes));
        // A folded change and a failure are pushed at once; what is sent of it, and the group of its cause, have to be loaded.
        refresh::when(
            newer,
            move || changes_now.get() != loaded.with_untracked(changes),
            move || load_job(id, is_revealed),
        );
        // The request as first loaded, until another change is folded in: its time stamp would change under the cursor.
        let first_request = Memo::new(move |before: Option<&(Gathered, Option<RequestPreview>)>| {
            let (now, request) = loaded.with(|p| (gathered(p), p.related.request.clone()));
            before.filter(|(before, _)| *before == now).cloned().unwrap_or((now, request))
        });
        let request = Memo::new(move |_| first_request.get().1);
        let status = Memo::new(move |_| job.with(|job| job.status));
        Self {
            job,
            status,
            attempts,
            progress,
            folded_changes,
            payload,
            related,
            masking,
            result,
            explanation,
            record,
            request,
        }
    }
}

/// What of a job decides about other parts of the page: the changes it sends, and whether and why it failed.
fn changes(page: &JobPage) -> (Gathered, bool, Option<String>) {
    let job = &page.detail.job;
    (gathered(page), job.status == JobStatus::Failed, job.error_message.clone())
}

/// How many changes are folded into the request, and the newest one's correlation id.
type Gathered = (i32, String);

fn gathered(page: &JobPage) -> Gathered {
    let job = &page.detail.job;
    (job.folded, job.last_correlation_id().to_owned())
}
