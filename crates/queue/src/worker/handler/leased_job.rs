//! The job of a running attempt.

use crate::mutex::lock;
use crate::store::jobs::ClaimedJob;
use crate::worker::handler::progress::ReportTo;
use crate::worker::handler::{LeaseLost, Peers, Progress, SendPermit, Uncertain};
use crate::worker::limit::{Slot, Slots};
use chrono::{DateTime, Utc};
use model::id::{AppId, AssignmentId, BatchId, IntegrationId, JobId};
use model::trace::TraceContext;
use rand::Rng as _;
use serde_json::Value;
use sqlx::PgPool;
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tokio::time::Instant;

/// A claimed job under its lease: the handle that a handler gets.
pub struct LeasedJob {
    /// The same in all attempts; the `webhook-id` of every request.
    pub id: JobId,
    /// Its app.
    pub app_id: AppId,
    /// Its lane.
    pub integration_id: IntegrationId,
    /// The batch it belongs to.
    pub batch_id: Option<BatchId>,
    /// The lease of this attempt.
    pub assignment_id: AssignmentId,
    /// The number of this attempt; 1 for the first.
    pub attempt: i16,
    /// The number of the last attempt.
    pub max_attempts: i16,
    /// Whether everything is to be sent and not only the changes.
    pub is_full: bool,
    /// Its type.
    pub job_type: String,
    /// Type and id of the record, if the job is a record's change.
    pub record: Option<(String, String)>,
    /// At most one waiting job per lane has this id.
    pub deduplication_id: Option<String>,
    /// Jobs with the same key run one at a time, in order.
    pub serialize_key: Option<String>,
    /// Shared by related jobs and log lines.
    pub correlation_id: String,
    /// The trace context of the call that enqueued it.
    pub trace: Option<TraceContext>,
    /// Its payload.
    pub payload: Option<Value>,
    /// When it was accepted.
    pub created_at: DateTime<Utc>,
    /// When this attempt started.
    pub started_at: DateTime<Utc>,
    /// Time-out of this attempt, without the time it waits for slots.
    pub timeout: Duration,
    /// Whether an earlier attempt vanished with its worker, so that nobody knows what it sent. Only a recorded completion clears it.
    pub may_have_arrived: bool,
    claimed_at: Instant,
    peers: Arc<Peers>,
    permit: SendPermit,
    stopped_clock: Mutex<StoppedClock>,
    retries_with_peers: AtomicBool,
    is_echo: AtomicBool,
    report_to: Option<ReportTo>,
    progress: OnceLock<Progress>,
}

/// Time that does not count against the time-out.
#[derive(Default)]
struct StoppedClock {
    before: Duration,
    since: Option<Instant>,
}

impl LeasedJob {
    /// Makes the handle of a claimed job.
    pub(crate) fn new(job: ClaimedJob, timeout: Duration, slots: Slots, peers: Arc<Peers>) -> Self {
        Self {
            id: job.id,
            app_id: job.app_id,
            integration_id: job.integration_id,
            batch_id: job.batch_id,
            assignment_id: job.assignment_id,
            attempt: job.attempt,
            max_attempts: job.max_attempts,
            is_full: job.is_full,
            record: job.record(),
            job_type: job.job_type,
            deduplication_id: job.deduplication_id,
            serialize_key: job.serialize_key,
            correlation_id: job.correlation_id,
            trace: job.trace,
            payload: job.payload,
            created_at: job.created_at,
            started_at: job.started_at,
            timeout,
            may_have_arrived: job.may_have_arrived,
            claimed_at: Instant::now(),
            peers,
            permit: SendPermit::new(job.integration_id, slots),
            stopped_clock: Mutex::default(),
            retries_with_peers: AtomicBool::new(false),
            is_echo: AtomicBool::new(false),
            report_to: None,
            progress: OnceLock::new(),
        }
    }

    /// For tests: alone, and without limits.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn unlimited(job: ClaimedJob, timeout: Duration) -> Self {
        Self::new(job, timeout, Slots::default(), Arc::default())
    }

    /// Writes the reports of [`progress`](Self::progress) to this database. Must be called inside a tokio runtime, whose tasks write them.
    pub(crate) fn reporting_to(mut self, pool: PgPool) -> Self {
        self.report_to = Some(ReportTo::new(pool));
        self
    }

    /// Reports how far the attempt is: `done` of `total` (0: not known), with a note for people (200 characters are kept). `GET /jobs/{id}`
    /// and the console show it while the job is processed.
    ///
    /// Call it as often as you like, even in a tight loop: it only keeps the numbers in memory. The first report of an attempt is written at once,
    /// later the newest one each second, by a task of its own. A database that is away does not affect the job.
    ///
    /// # Errors
    /// [`LeaseLost`] once the job was cancelled or is no longer this worker's: its result will be dropped, so return with `?`. A handler that
    /// blocks its thread has no other way to learn of it. It is known at most a second after the first report that could not be written.
    pub fn progress(&self, done: u64, total: u64, note: &str) -> Result<(), LeaseLost> {
        self.reports().report(done, total, note)
    }

    /// As [`progress`](Self::progress), for work in threads or tasks of its own.
    #[must_use]
    pub fn progress_handle(&self) -> Progress {
        self.reports().clone()
    }

    /// Made by the first report, because most jobs make none.
    fn reports(&self) -> &Progress {
        self.progress.get_or_init(|| Progress::new(self.id, self.assignment_id, self.report_to.clone()))
    }

    /// The time on the database's clock after this wait.
    pub(crate) fn time_in(&self, wait: Duration) -> DateTime<Utc> {
        let since = self.claimed_at.elapsed().saturating_add(wait);
        chrono::Duration::from_std(since)
            .ok()
            .and_then(|since| self.started_at.checked_add_signed(since))
            .unwrap_or(DateTime::<Utc>::MAX_UTC)
    }

    /// A value that the jobs of the same lane that came with the same claim share. The first caller makes it, and is told how many there are,
    /// including this one; some of them may never run, if the lease ends before. None when another handler made a value of another type. It lives as
    /// long as any of the jobs, or any other clone of the `Arc`.
    pub fn share_with_peers<T: Any + Send + Sync>(&self, make: impl FnOnce(usize) -> T) -> Option<Arc<T>> {
        self.peers.share(make)
    }

    /// If it fails, its wait gets the same jitter as its peers', so that they are due together: jobs of one request share one request again, instead
    /// of needing one each.
    pub fn retry_with_peers(&self) {
        self.retries_with_peers.store(true, Ordering::Relaxed);
    }

    /// Marks a job that shared its request with another job, which reports the response: the external system did not fail, or answer, once for
    /// each of them. The circuit breaker ignores this one.
    pub fn echo(&self) {
        self.is_echo.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_echo(&self) -> bool {
        self.is_echo.load(Ordering::Relaxed)
    }

    /// The jitter of the wait before a retry, 0 to 1.
    pub(crate) fn jitter(&self) -> f64 {
        if self.retries_with_peers.load(Ordering::Relaxed) {
            self.peers.jitter()
        } else {
            rand::rng().random()
        }
    }

    /// Waits until this job may send a request. Call it right before sending: every [`Slot::Go`] uses up a slot of the lane's rate limits.
    ///
    /// While the process cannot know whether it still has the lease, because it was stopped (SIGSTOP, a suspended machine) or the database does not
    /// answer, this waits for the next heartbeat, so that nothing overwrites what others may have sent meanwhile. A request that is already on its
    /// way is not stopped.
    pub async fn slot(&self) -> Slot {
        self.permit.slot().await
    }

    /// Notes that from now on something may have arrived. Call it right before sending: however the attempt ends, even if it is stopped or
    /// panics, [`on_ended`](crate::worker::AttemptHandler::on_ended) gets the value, unless a completion is recorded.
    pub fn mark_uncertain(&self, uncertain: Uncertain) {
        // This handler is running, so its attempt has not ended.
        let _ = self.permit.set(uncertain);
    }

    /// Notes that certainly nothing has arrived after all.
    pub fn clear_uncertain(&self) {
        self.permit.clear_uncertain();
    }

    /// A permission to send, for a task that sends for several jobs at once.
    #[must_use]
    pub fn send_permit(&self) -> SendPermit {
        self.permit.clone()
    }

    /// Awaits something without counting it against the time-out. Losing the lease still stops the attempt.
    pub async fn off_the_clock<T>(&self, waiting: impl Future<Output = T>) -> T {
        struct Stopped<'a>(&'a LeasedJob);
        impl Drop for Stopped<'_> {
            fn drop(&mut self) {
                let mut clock = lock(&self.0.stopped_clock);
                let waited = clock.since.take().map_or(Duration::ZERO, |since| since.elapsed());
                clock.before += waited;
            }
        }
        lock(&self.stopped_clock).since = Some(Instant::now());
        let _stopped = Stopped(self);
        waiting.await
    }

    /// The time off the clock, up to now.
    pub(crate) fn time_off(&self) -> Duration {
        let clock = lock(&self.stopped_clock);
        clock.before + clock.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Withdraws the permission to send. False if a task is already sending it with other jobs: then the handler must be awaited.
    pub(crate) fn stop(&self) -> bool {
        self.permit.withdraw()
    }

    /// Ends the attempt, and returns what may have arrived.
    pub(crate) fn end(&self) -> Option<Uncertain> {
        if let Some(progress) = self.progress.get() {
            progress.end();
        }
        self.permit.end()
    }
}
