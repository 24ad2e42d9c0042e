//! State shared by the parts of one engine: its jobs, its lease, and whether the database is away.

use crate::{
    EngineConfig,
    worker::{
        Handlers, finish::breakers::Breakers, finish::latency::Latencies, judge::schedules::Schedules,
        lease::validity::Lease, limit::limiter::Limiter, run::attempts::Attempts, state::meters::Meters,
        state::watchdog::Watchdog,
    },
};
use model::id::{AssignmentId, ClaimBatchId, IntegrationId};
use sqlx::PgPool;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub(crate) struct Shared {
    pub pool: PgPool,
    pub config: EngineConfig,
    pub handlers: Handlers,
    pub limiter: Arc<Limiter>,
    pub breakers: Breakers,
    pub schedules: Schedules,
    pub attempts: Attempts,
    pub meters: Meters,
    pub latencies: Latencies,
    pub watchdog: Watchdog,
    /// The loop that has stopped.
    stuck: OnceLock<&'static str>,
    lease: Mutex<Arc<Lease>>,
    /// Whether the lease is in the database; nothing is claimed before.
    pub is_registered: watch::Sender<bool>,
    running: Mutex<HashMap<AssignmentId, IntegrationId>>,
    batches: Mutex<Batches>,
    /// The claimer waits for results: it can claim more once they are recorded.
    waits_for_results: AtomicBool,
    /// Claimed jobs were dropped, since this was last asked.
    has_dropped: AtomicBool,
    unrecorded: AtomicUsize,
    /// How many unrecorded results wait for a row that is locked by another transaction.
    locked_elsewhere: AtomicUsize,
    /// The finisher could not reach the database: claims stop meanwhile.
    is_away: AtomicBool,
    /// An operator asked this process to claim nothing more.
    is_draining: AtomicBool,
    /// There may be work.
    pub work: Arc<Notify>,
    /// A slot became free, which makes a claim possible if all were taken.
    pub slot_freed: Notify,
    /// Results were recorded, which makes a claim possible if something claimable was left because its lane was full.
    pub lanes_emptied: Notify,
    /// Wakers of this process, which notify `work` directly.
    wakers: Mutex<Vec<Uuid>>,
    /// A job left the process: a shutdown waits for this.
    pub left: Notify,
    /// Ends recorded since the start: tests wait for this.
    pub recorded: watch::Sender<u64>,
    /// Notifications of cancel requests may have been missed.
    pub recheck_cancels: Notify,
    pub no_more_claims: CancellationToken,
    /// The grace time is over: running jobs are stopped and released.
    pub release_running: CancellationToken,
}

/// Claim batches tell lease recovery which jobs this process had, should it die. The heartbeat deletes them once all their jobs have been recorded.
#[derive(Default)]
struct Batches {
    open: HashMap<ClaimBatchId, usize>,
    done: Vec<ClaimBatchId>,
    /// Jobs whose end could not be written at all: still this worker's in the database, but running nowhere.
    stuck: HashMap<AssignmentId, ClaimBatchId>,
}

/// Plain data is usable after a panic in another thread.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(pool: PgPool, config: EngineConfig, handlers: Handlers) -> Self {
        Self {
            limiter: Arc::new(Limiter::new(pool.clone())),
            breakers: Breakers::default(),
            pool,
            config,
            handlers,
            schedules: Schedules::default(),
            attempts: Attempts::default(),
            meters: Meters::new(),
            latencies: Latencies::default(),
            watchdog: Watchdog::default(),
            stuck: OnceLock::new(),
            lease: Mutex::new(Arc::new(Lease::new())),
            is_registered: watch::Sender::new(false),
            running: Mutex::default(),
            batches: Mutex::default(),
            waits_for_results: AtomicBool::new(false),
            has_dropped: AtomicBool::new(false),
            unrecorded: AtomicUsize::new(0),
            locked_elsewhere: AtomicUsize::new(0),
            is_away: AtomicBool::new(false),
            is_draining: AtomicBool::new(false),
            work: Arc::default(),
            slot_freed: Notify::new(),
            lanes_emptied: Notify::new(),
            wakers: Mutex::default(),
            left: Notify::new(),
            recorded: watch::Sender::new(0),
            recheck_cancels: Notify::new(),
            no_more_claims: CancellationToken::new(),
            release_running: CancellationToken::new(),
        }
    }

    pub(crate) fn add_waker(&self, waker: Uuid) {
        lock(&self.wakers).push(waker);
    }

    /// Whether a notification comes from a waker that has notified `work` already.
    pub(crate) fn is_own_waker(&self, payload: &str) -> bool {
        Uuid::try_parse(payload).is_ok_and(|waker| lock(&self.wakers).contains(&waker))
    }

    pub(crate) fn lease(&self) -> Arc<Lease> {
        Arc::clone(&lock(&self.lease))
    }

    /// Ends the lease: its jobs are stopped and forgotten. The next registration has another worker id, so that lease recovery can never mistake its
    /// jobs for those of this lease.
    pub(crate) fn lose_lease(&self) {
        self.is_registered.send_replace(false);
        let old = std::mem::replace(&mut *lock(&self.lease), Arc::new(Lease::new()));
        old.lose();
        self.meters.lease_lost();
        tracing::warn!(worker.id = %old.worker_id, "worker {} lost its lease: its jobs are left to others", old.worker_id);
    }

    pub(crate) fn add_claimed(&self, batch_id: ClaimBatchId, leases: &[(AssignmentId, IntegrationId)]) {
        lock(&self.running).extend(leases.iter().copied());
        if !leases.is_empty() {
            *lock(&self.batches).open.entry(batch_id).or_default() += leases.len();
        }
    }

    /// Drops claimed jobs of which it is unknown whether this worker has them: they are not started, and the claimer reconciles them.
    pub(crate) fn drop_claimed(&self, batch_id: ClaimBatchId, leases: &[(AssignmentId, IntegrationId)]) {
        self.keep_batch(batch_id);
        self.has_dropped.store(true, Ordering::Relaxed);
        for (assignment_id, _) in leases {
            self.free_slot(*assignment_id);
        }
        self.work.notify_one();
    }

    /// Whether claimed jobs were dropped since the last call.
    pub(crate) fn has_dropped(&self) -> bool {
        self.has_dropped.swap(false, Ordering::Relaxed)
    }

    /// Frees the slot of a job that does not run any more.
    pub(crate) fn free_slot(&self, assignment_id: AssignmentId) {
        lock(&self.running).remove(&assignment_id);
        self.left.notify_one();
        self.slot_freed.notify_one();
    }

    /// Counts a job of a claim batch of which nothing more will be written.
    pub(crate) fn batch_job_done(&self, claim_batch_id: ClaimBatchId) {
        let mut batches = lock(&self.batches);
        if let Some(open) = batches.open.get_mut(&claim_batch_id) {
            *open -= 1;
            if *open == 0 {
                batches.open.remove(&claim_batch_id);
                batches.done.push(claim_batch_id);
            }
        }
    }

    /// Never deletes this batch, because lease recovery has to find a job of it.
    pub(crate) fn keep_batch(&self, claim_batch_id: ClaimBatchId) {
        lock(&self.batches).open.remove(&claim_batch_id);
    }

    /// Notes a job whose end could not be written: it is released when claims without an answer are reconciled.
    pub(crate) fn note_stuck(&self, assignment_id: AssignmentId, claim_batch_id: ClaimBatchId) {
        lock(&self.batches).stuck.insert(assignment_id, claim_batch_id);
    }

    /// Jobs whose end could not be written, and their claim batches.
    pub(crate) fn unwritable(&self) -> HashMap<AssignmentId, ClaimBatchId> {
        lock(&self.batches).stuck.clone()
    }

    /// They have been released.
    pub(crate) fn forget_stuck(&self, given_back: &[AssignmentId]) {
        for assignment_id in given_back {
            let batch = lock(&self.batches).stuck.remove(assignment_id);
            if let Some(claim_batch_id) = batch {
                self.batch_job_done(claim_batch_id);
            }
        }
    }

    pub(crate) fn running_assignments(&self) -> Vec<AssignmentId> {
        lock(&self.running).keys().copied().collect()
    }

    pub(crate) fn known_batches(&self) -> Vec<ClaimBatchId> {
        let batches = lock(&self.batches);
        batches.open.keys().chain(&batches.done).copied().collect()
    }

    /// Claim batches whose jobs have all been recorded.
    pub(crate) fn done_batches(&self) -> Vec<ClaimBatchId> {
        lock(&self.batches).done.clone()
    }

    pub(crate) fn forget_batches(&self, deleted: &[ClaimBatchId]) {
        lock(&self.batches).done.retain(|id| !deleted.contains(id));
    }

    pub(crate) fn running(&self) -> usize {
        lock(&self.running).len()
    }

    pub(crate) fn busy_by_lane(&self) -> HashMap<IntegrationId, usize> {
        let mut busy = HashMap::new();
        for lane in lock(&self.running).values() {
            *busy.entry(*lane).or_default() += 1;
        }
        busy
    }

    /// Slots for further jobs. Unrecorded results beyond the number of workers occupy slots too, so that a slow database slows claims down, and so do
    /// handlers that block their threads.
    pub(crate) fn free_slots(&self) -> usize {
        let excess_results = self.unrecorded().saturating_sub(self.config.workers);
        self.config.workers.saturating_sub(self.running() + excess_results + self.attempts.blocked())
    }

    pub(crate) fn unrecorded(&self) -> usize {
        self.unrecorded.load(Ordering::Relaxed)
    }

    pub(crate) fn add_unrecorded(&self) {
        // Results locked elsewhere do not move, however fast we record.
        if self.unrecorded.fetch_add(1, Ordering::Relaxed) <= self.locked_elsewhere() {
            self.meters.results_move();
        }
    }

    pub(crate) fn locked_elsewhere(&self) -> usize {
        self.locked_elsewhere.load(Ordering::Relaxed)
    }

    pub(crate) fn set_locked_elsewhere(&self, count: usize) {
        self.locked_elsewhere.store(count, Ordering::Relaxed);
    }

    pub(crate) fn note_recorded(&self, count: usize) {
        self.unrecorded.fetch_sub(count, Ordering::Relaxed);
        self.meters.results_move();
        self.recorded.send_modify(|recorded| *recorded += count as u64);
        self.slot_freed.notify_one();
        self.lanes_emptied.notify_one();
        self.left.notify_one();
    }

    /// Whether results are to be recorded at once because no more of them can come.
    pub(crate) fn waits_for_results(&self) -> bool {
        self.waits_for_results.load(Ordering::Relaxed) && self.running() == 0
    }

    pub(crate) fn set_waiting_for_results(&self, is_waiting: bool) {
        self.waits_for_results.store(is_waiting, Ordering::Relaxed);
    }

    pub(crate) fn is_away(&self) -> bool {
        self.is_away.load(Ordering::Relaxed)
    }

    pub(crate) fn set_away(&self, is_away: bool) {
        if self.is_away.swap(is_away, Ordering::Relaxed) != is_away {
            if is_away {
                tracing::warn!("the database cannot be reached: results are kept, nothing is claimed");
            } else {
                tracing::info!("the database is back");
                self.work.notify_one();
            }
        }
    }

    pub(crate) fn set_stuck(&self, part: &'static str) {
        let _ = self.stuck.set(part);
    }

    pub(crate) fn stuck(&self) -> Option<&'static str> {
        self.stuck.get().copied()
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    pub(crate) fn set_draining(&self, is_draining: bool) {
        self.is_draining.store(is_draining, Ordering::Relaxed);
    }
}
