//! A job in a worker's hands.

use crate::{
    store::jobs::ClaimedJob,
    worker::{Doubt, LeaseLost, Peers, Progress, Slot, Slots, progress::ReportTo},
};
use chrono::{DateTime, Utc};
use model::{
    id::{AppId, AssignmentId, BatchId, IntegrationId, JobId},
    trace::TraceContext,
};
use rand::Rng as _;
use serde_json::Value;
use sqlx::PgPool;
use std::{
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// A claimed job under its lease, as a handler sees it.
pub struct HeldJob {
    /// The same over all attempts: the `webhook-id` of every request.
    pub id: JobId,
    /// Whose.
    pub app_id: AppId,
    /// For which integration.
    pub integration_id: IntegrationId,
    /// The batch it is an item of.
    pub batch_id: Option<BatchId>,
    /// The lease.
    pub assignment_id: AssignmentId,
    /// This one; 1 for the first.
    pub attempt: i16,
    /// The last one.
    pub max_attempts: i16,
    /// Whether everything is to be sent and not the difference.
    pub is_full: bool,
    /// What kind of job.
    pub job_type: String,
    /// Type and id of the record, of a record's change.
    pub record: Option<(String, String)>,
    /// One live job per integration and id.
    pub deduplication_id: Option<String>,
    /// Jobs of one key run one at a time, in order.
    pub serialize_key: Option<String>,
    /// Ties together what belongs together.
    pub correlation_id: String,
    /// The trace it came with.
    pub trace: Option<TraceContext>,
    /// What the job was made with.
    pub payload: Option<Value>,
    /// When it was accepted.
    pub created_at: DateTime<Utc>,
    /// When this attempt began.
    pub started_at: DateTime<Utc>,
    /// Time this attempt may take, waiting for a slot not counted.
    pub timeout: Duration,
    /// Whether an attempt before this one vanished with its worker: nobody knows what it sent. Only a recorded completion clears it.
    pub may_have_arrived: bool,
    claimed_at: Instant,
    peers: Arc<Peers>,
    right: SendRight,
    stopped_clock: Mutex<StoppedClock>,
    retries_with_peers: AtomicBool,
    is_echo: AtomicBool,
    report_to: Option<ReportTo>,
    progress: OnceLock<Progress>,
}

/// The right to send for a job, for a task that sends for several and outlives each of their handlers.
#[derive(Clone)]
pub struct SendRight {
    integration_id: IntegrationId,
    slots: Slots,
    doubt: Arc<Mutex<Doubts>>,
}

/// What the attempt says of what may have arrived, until it has ended.
#[derive(Default)]
struct Doubts {
    told: Option<Doubt>,
    /// A task sends for it together with others: what is on its way is not the attempt's to stop.
    is_carried: bool,
    has_ended: bool,
}

/// Time that is not the job's own.
#[derive(Default)]
struct StoppedClock {
    before: Duration,
    since: Option<Instant>,
}

impl SendRight {
    fn new(integration_id: IntegrationId, slots: Slots) -> Self {
        Self { integration_id, slots, doubt: Arc::default() }
    }

    /// As [`HeldJob::slot`]. One slot is one request, whatever it tells of how many jobs.
    pub async fn slot(&self) -> Slot {
        self.slots.next(self.integration_id).await
    }

    /// As [`HeldJob::doubt`]. False: the attempt has ended meanwhile, and nothing may be sent for it any more. True: it goes on until its
    /// handler has ended, even if the job is called off, so that no other attempt begins while this one is on its way.
    #[must_use]
    pub fn doubt(&self, doubt: Doubt) -> bool {
        // Lost, it is about to be stopped.
        let may_send = !self.slots.is_lease_lost() && self.tell(doubt);
        self.doubts().is_carried |= may_send;
        may_send
    }

    fn tell(&self, doubt: Doubt) -> bool {
        let mut doubts = self.doubts();
        if !doubts.has_ended {
            doubts.told = Some(doubt);
        }
        !doubts.has_ended
    }

    /// As [`HeldJob::settle`].
    pub fn settle(&self) {
        drop(self.doubts().told.take());
    }

    fn doubts(&self) -> MutexGuard<'_, Doubts> {
        self.doubt.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldJob {
    /// Puts a claimed job into a handler's hands.
    #[must_use]
    pub fn new(job: ClaimedJob, timeout: Duration, slots: Slots, peers: Arc<Peers>) -> Self {
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
            right: SendRight::new(job.integration_id, slots),
            stopped_clock: Mutex::default(),
            retries_with_peers: AtomicBool::new(false),
            is_echo: AtomicBool::new(false),
            report_to: None,
            progress: OnceLock::new(),
        }
    }

    /// Lets what [`progress`](Self::progress) is told be written. Must be called inside a runtime, whose tasks write it.
    #[must_use]
    pub fn reporting_to(mut self, pool: PgPool) -> Self {
        self.report_to = Some(ReportTo::new(pool));
        self
    }

    /// Says how far the attempt is: `done` of `total` (0: not known), with a note for people (200 characters are kept). `GET /jobs/{id}`
    /// and the console show it while the job is processed.
    ///
    /// Call it as often as you like, in the tightest loop: it only notes the numbers. The first report of an attempt is written at once, the
    /// newest ones after it once a second, by a task of their own, and a database that is away costs the job nothing.
    ///
    /// # Errors
    /// [`LeaseLost`] once the job was called off or is no longer this worker's: whatever it does from now on leads to nothing, so `?` is the
    /// right answer, and for a handler that blocks its thread the only way to learn of it. It is known at the latest a second after the first report that could not be written.
    pub fn progress(&self, done: u64, total: u64, note: &str) -> Result<(), LeaseLost> {
        self.reports().report(done, total, note)
    }

    /// The same, for work that goes on in threads or tasks of its own.
    #[must_use]
    pub fn progress_handle(&self) -> Progress {
        self.reports().clone()
    }

    /// Made by the first report: most jobs make none.
    fn reports(&self) -> &Progress {
        self.progress.get_or_init(|| Progress::new(self.id, self.assignment_id, self.report_to.clone()))
    }

    /// What the database's clock shows in so long.
    pub(crate) fn time_in(&self, wait: Duration) -> DateTime<Utc> {
        let since = self.claimed_at.elapsed().saturating_add(wait);
        chrono::Duration::from_std(since)
            .ok()
            .and_then(|since| self.started_at.checked_add_signed(since))
            .unwrap_or(DateTime::<Utc>::MAX_UTC)
    }

    /// The jobs of the same integration that came with the same claim.
    #[must_use]
    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// Should it fail, the random part of its wait is that of its peers, so that they fall due together: what one request told of is told
    /// by one request again, instead of by as many as there are jobs.
    pub fn retry_with_peers(&self) {
        self.retries_with_peers.store(true, Ordering::Relaxed);
    }

    /// One request told of this job and of another one, and the other one says what came of it: the external system did not fail, or
    /// answer, once for each of them. Its circuit breaker takes no notice of this one.
    pub fn echo(&self) {
        self.is_echo.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_echo(&self) -> bool {
        self.is_echo.load(Ordering::Relaxed)
    }

    /// The random part of the wait before a retry, 0 to 1.
    pub(super) fn jitter(&self) -> f64 {
        if self.retries_with_peers.load(Ordering::Relaxed) {
            self.peers.jitter()
        } else {
            rand::rng().random()
        }
    }

    /// Waits for the moment this job may send a request. Ask right before sending: every answer of [`Slot::Go`] uses up a slot
    /// of the integration's limits.
    ///
    /// While this process cannot know whether it still holds the job, because it was stopped (SIGSTOP, a suspended machine) or the database
    /// does not answer, it waits for its next heartbeat: nothing is sent over what others may have sent meanwhile. What is on its way
    /// by then is not called back.
    pub async fn slot(&self) -> Slot {
        self.right.slot().await
    }

    /// From now on something may have arrived. Say it right before sending: however the attempt ends, also when it is stopped or
    /// panics, the value is shown to [`on_ended`](crate::worker::AttemptHandler::on_ended), unless a recorded completion makes it void.
    pub fn doubt(&self, doubt: Doubt) {
        // The attempt goes on as long as its handler does.
        let _ = self.right.tell(doubt);
    }

    /// Nothing arrived after all, for certain.
    pub fn settle(&self) {
        self.right.settle();
    }

    /// For a task that sends for several jobs at once.
    #[must_use]
    pub fn send_right(&self) -> SendRight {
        self.right.clone()
    }

    /// Waits for something that does not count against the job's time. Its lease counts on: a lost one stops the attempt as ever.
    pub async fn off_the_clock<T>(&self, waiting: impl Future<Output = T>) -> T {
        struct Stopped<'a>(&'a HeldJob);
        impl Drop for Stopped<'_> {
            fn drop(&mut self) {
                let mut clock = self.0.clock();
                let waited = clock.since.take().map_or(Duration::ZERO, |since| since.elapsed());
                clock.before += waited;
            }
        }
        self.clock().since = Some(Instant::now());
        let _stopped = Stopped(self);
        waiting.await
    }

    /// How long the job has waited off the clock, up to now.
    pub(super) fn time_off(&self) -> Duration {
        let clock = self.clock();
        clock.before + clock.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Takes the right to send away, unless a task sends for several jobs by now: false, and the handler is to be waited for.
    pub(super) fn stop(&self) -> bool {
        let mut doubts = self.right.doubts();
        doubts.has_ended |= !doubts.is_carried;
        doubts.has_ended
    }

    /// Ends the attempt: what may have arrived is said by now.
    pub(super) fn take_doubt(&self) -> Option<Doubt> {
        if let Some(progress) = self.progress.get() {
            progress.end();
        }
        let mut doubts = self.right.doubts();
        doubts.has_ended = true;
        doubts.told.take()
    }

    fn clock(&self) -> MutexGuard<'_, StoppedClock> {
        self.stopped_clock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
