//! Progress reports of a handler, for people: made as often as it likes, written once a second.

use crate::{mutex::lock, store::jobs::note_progress};
use model::id::{AssignmentId, JobId};
use model::text::sanitise;
use sqlx::PgPool;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

/// Between two writes of one attempt.
const INTERVAL: Duration = Duration::from_secs(1);
/// A report that cannot be written in this time is dropped: the next one is newer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// Characters of a note that are kept.
const NOTE_CHARS: usize = 200;

/// The job was cancelled, or is not this worker's any more: the result of its handler will be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the job is no longer this worker's")]
pub struct LeaseLost;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Report {
    done: u64,
    total: u64,
    note: String,
}

impl Report {
    fn new(done: u64, total: u64, note: &str) -> Self {
        Self { done, total, note: sanitise(note, NOTE_CHARS) }
    }
}

/// Where reports are written, and the runtime that writes them: a handler may report from a thread that belongs to no runtime.
#[derive(Clone)]
pub(crate) struct ReportTo {
    pool: PgPool,
    runtime: Handle,
}

impl ReportTo {
    pub(crate) fn new(pool: PgPool) -> Self {
        Self { pool, runtime: Handle::current() }
    }
}

/// Reports how far one attempt is. Cheap to clone, usable from any thread; see [`LeasedJob::progress`](crate::worker::LeasedJob::progress).
#[derive(Clone)]
pub struct Progress(Arc<Inner>);

struct Inner {
    job_id: JobId,
    assignment_id: AssignmentId,
    /// None: reports are not written.
    to: Option<ReportTo>,
    ended: CancellationToken,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What is to be written next.
    newest: Option<Report>,
    is_writing: bool,
    is_lost: bool,
}

impl Progress {
    pub(crate) fn new(job_id: JobId, assignment_id: AssignmentId, to: Option<ReportTo>) -> Self {
        let (ended, state) = (CancellationToken::new(), Mutex::default());
        Self(Arc::new(Inner { job_id, assignment_id, to, ended, state }))
    }

    /// As [`LeasedJob::progress`](crate::worker::LeasedJob::progress).
    ///
    /// # Errors
    /// [`LeaseLost`] once the job is no longer this worker's, or its attempt has ended.
    pub fn report(&self, done: u64, total: u64, note: &str) -> Result<(), LeaseLost> {
        self.note(Report::new(done, total, note))
    }

    /// The attempt is over: nothing more is written, and later reports fail.
    pub(crate) fn end(&self) {
        self.0.ended.cancel();
    }

    fn note(&self, report: Report) -> Result<(), LeaseLost> {
        let inner = &self.0;
        let mut state = lock(&inner.state);
        if state.is_lost || inner.ended.is_cancelled() {
            return Err(LeaseLost);
        }
        let Some(ReportTo { runtime, .. }) = &inner.to else { return Ok(()) };
        state.newest = Some(report);
        if !state.is_writing {
            state.is_writing = true;
            runtime.spawn(write(Arc::clone(inner)));
        }
        Ok(())
    }
}

impl Inner {
    /// The newest report; none: the writer ends, and the next report starts another.
    fn take(&self) -> Option<Report> {
        let mut state = lock(&self.state);
        let newest = state.newest.take().filter(|_| !self.ended.is_cancelled());
        state.is_writing = newest.is_some();
        newest
    }
}

/// Writes the newest report once a second, as long as there are new ones.
async fn write(inner: Arc<Inner>) {
    let Some(ReportTo { pool, .. }) = &inner.to else { return };
    while let Some(report) = inner.take() {
        let total = (report.total > 0).then_some(report.total);
        let noted =
            note_progress(pool, (inner.job_id, inner.assignment_id), (report.done, total), &report.note);
        match tokio::time::timeout(WRITE_TIMEOUT, noted).await {
            Ok(Ok(true)) | Err(_) => {}
            Ok(Ok(false)) => lock(&inner.state).is_lost = true,
            Ok(Err(error)) => {
                tracing::debug!(job.id = %inner.job_id, %error, "the progress of job {} could not be noted", inner.job_id);
            }
        }
        tokio::select! {
            () = inner.ended.cancelled() => {}
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_report_is_taken_once_and_none_after_the_end() {
        let progress = Progress::new(JobId::generate(), AssignmentId(uuid::Uuid::nil()), None);
        let inner = &progress.0;
        lock(&inner.state).newest = Some(Report::new(1, 2, "first"));
        lock(&inner.state).newest = Some(Report::new(2, 2, "se\0cond"));
        assert_eq!(inner.take(), Some(Report { done: 2, total: 2, note: "se\u{fffd}cond".into() }));
        assert!(lock(&inner.state).is_writing);
        assert_eq!(inner.take(), None);
        assert!(!lock(&inner.state).is_writing, "the next report starts a writer");
        assert_eq!(progress.report(1, 2, ""), Ok(()));
        lock(&inner.state).newest = Some(Report::new(2, 2, ""));
        progress.end();
        assert_eq!((inner.take(), progress.report(2, 2, "")), (None, Err(LeaseLost)));
    }
}
