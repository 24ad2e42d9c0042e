//! What the parts of one engine share: which jobs it holds, under which lease, and whether the database is there.

use crate::{
    EngineConfig,
    worker::{
        Handlers, attempts::Attempts, breakers::Breakers, latency::Latencies, lease::Lease, limiter::Limiter,
        meters::Meters, schedules::Schedules, watchdog::Pulses,
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

pub(super) struct Shared {
    pub pool: PgPool,
    pub config: EngineConfig,
    pub handlers: Handlers,
    pub limiter: Arc<Limiter>,
    /// What it saw of external systems in trouble.
    pub breakers: Breakers,
    /// The waits between attempts that integrations have of their own.
    pub schedules: Schedules,
    /// What its handlers are at.
    pub attempts: Attempts,
    /// What it measures of itself.
    pub meters: Meters,
    /// How long attempts took, until that is written.
    pub latencies: Latencies,
    /// The life signs of its loops.
    pub pulses: Pulses,
    /// The loop that has stopped.
    stuck: OnceLock<&'static str>,
    lease: Mutex<Arc<Lease>>,
    /// Whether the lease stands in the database: nothing is claimed before.
    pub is_registered: watch::Sender<bool>,
    running: Mutex<HashMap<AssignmentId, IntegrationId>>,
    batches: Mutex<Batches>,
    /// The next claim can take more as soon as results are recorded.
    waits_for_results: AtomicBool,
    /// Claimed jobs were left, since it was last asked.
    has_left: AtomicBool,
    /// Results that are not recorded yet.
    unrecorded: AtomicUsize,
    /// Of these, the ones whose rows another transaction holds.
    held: AtomicUsize,
    /// The finisher could not reach the database: claims stop meanwhile.
    is_away: AtomicBool,
    /// An operator asked this process to claim nothing more.
    is_draining: AtomicBool,
    /// Someone says that there is work.
    pub work: Arc<Notify>,
    /// A slot came free: worth a claim when all were taken.
    pub room: Notify,
    /// Results were recorded: worth a claim when something claimable was left because its lane is full, which is counted by then.
    pub lanes_emptied: Notify,
    /// Wakers that ring `work` themselves.
    wakers: Mutex<Vec<Uuid>>,
    /// A job left the process: what a shutdown waits for.
    pub left: Notify,
    /// Ends recorded since the start: what tests wait for.
    pub recorded: watch::Sender<u64>,
    /// What notifications say of called-off jobs may have been missed.
    pub ask_again: Notify,
    /// No more claims.
    pub no_more_claims: CancellationToken,
    /// The grace time is over: what still runs is stopped and given back.
    pub give_back: CancellationToken,
}

/// Claim batches, so that the sweep has something to read when this process dies: deleted by the heartbeat once all their jobs have
/// been recorded.
#[derive(Default)]
struct Batches {
    open: HashMap<ClaimBatchId, usize>,
    done: Vec<ClaimBatchId>,
    /// Jobs whose end could not be written at all: still ours in the database, and running nowhere.
    stuck: HashMap<AssignmentId, ClaimBatchId>,
}

/// A panic while a lock is held leaves plain data behind: there is nothing to protect from it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Shared {
    pub(super) fn new(pool: PgPool, config: EngineConfig, handlers: Handlers) -> Self {
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
            pulses: Pulses::default(),
            stuck: OnceLock::new(),
            lease: Mutex::new(Arc::new(Lease::new())),
            is_registered: watch::Sender::new(false),
            running: Mutex::default(),
            batches: Mutex::default(),
            waits_for_results: AtomicBool::new(false),
            has_left: AtomicBool::new(false),
            unrecorded: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            is_away: AtomicBool::new(false),
            is_draining: AtomicBool::new(false),
            work: Arc::default(),
            room: Notify::new(),
            lanes_emptied: Notify::new(),
            wakers: Mutex::default(),
            left: Notify::new(),
            recorded: watch::Sender::new(0),
            ask_again: Notify::new(),
            no_more_claims: CancellationToken::new(),
            give_back: CancellationToken::new(),
        }
    }

    pub(super) fn know(&self, waker: Uuid) {
        lock(&self.wakers).push(waker);
    }

    /// Whether a notification comes from a waker that rang `work` already.
    pub(super) fn knows(&self, payload: &str) -> bool {
        Uuid::try_parse(payload).is_ok_and(|waker| lock(&self.wakers).contains(&waker))
    }

    pub(super) fn lease(&self) -> Arc<Lease> {
        Arc::clone(&lock(&self.lease))
    }

    /// Ends the lease: its jobs are stopped and forgotten, and the next registration is another worker. The sweep can then never take a
    /// job of the new one for a job of the old.
    pub(super) fn lose_lease(&self) {
        self.is_registered.send_replace(false);
        let old = std::mem::replace(&mut *lock(&self.lease), Arc::new(Lease::new()));
        old.lose();
        self.meters.lease_lost();
        tracing::warn!(worker.id = %old.worker_id, "worker {} lost its lease: its jobs are left to others", old.worker_id);
    }

    /// Takes claimed jobs in.
    pub(super) fn take_in(&self, batch_id: ClaimBatchId, leases: &[(AssignmentId, IntegrationId)]) {
        lock(&self.running).extend(leases.iter().copied());
        if !leases.is_empty() {
            *lock(&self.batches).open.entry(batch_id).or_default() += leases.len();
        }
    }

    /// Whether these are held, nobody knows: they are not begun, and the claimer finds out.
    pub(super) fn leave(&self, batch_id: ClaimBatchId, leases: &[(AssignmentId, IntegrationId)]) {
        self.abandon(batch_id);
        self.has_left.store(true, Ordering::Relaxed);
        for (assignment_id, _) in leases {
            self.let_go(*assignment_id);
        }
        self.work.notify_one();
    }

    /// Whether claimed jobs were left since the last time this was asked.
    pub(super) fn has_left(&self) -> bool {
        self.has_left.swap(false, Ordering::Relaxed)
    }

    /// A job does not run any more; its slot is free.
    pub(super) fn let_go(&self, assignment_id: AssignmentId) {
        lock(&self.running).remove(&assignment_id);
        self.left.notify_one();
        self.room.notify_one();
    }

    /// Nothing more will be written about this job.
    pub(super) fn settle(&self, claim_batch_id: ClaimBatchId) {
        let mut batches = lock(&self.batches);
        if let Some(open) = batches.open.get_mut(&claim_batch_id) {
            *open -= 1;
            if *open == 0 {
                batches.open.remove(&claim_batch_id);
                batches.done.push(claim_batch_id);
            }
        }
    }

    /// A job of this batch was left to others: the sweep must find the batch, so it is never deleted by us.
    pub(super) fn abandon(&self, claim_batch_id: ClaimBatchId) {
        lock(&self.batches).open.remove(&claim_batch_id);
    }

    /// The end of a job could not be written: it is given back when claims without an answer are looked for.
    pub(super) fn note_stuck(&self, assignment_id: AssignmentId, claim_batch_id: ClaimBatchId) {
        lock(&self.batches).stuck.insert(assignment_id, claim_batch_id);
    }

    /// Jobs whose end could not be written, and their batches.
    pub(super) fn unwritable(&self) -> HashMap<AssignmentId, ClaimBatchId> {
        lock(&self.batches).stuck.clone()
    }

    /// They were given back after all.
    pub(super) fn forget_stuck(&self, given_back: &[AssignmentId]) {
        for assignment_id in given_back {
            let batch = lock(&self.batches).stuck.remove(assignment_id);
            if let Some(claim_batch_id) = batch {
                self.settle(claim_batch_id);
            }
        }
    }

    /// Jobs that run in this process now.
    pub(super) fn running_assignments(&self) -> Vec<AssignmentId> {
        lock(&self.running).keys().copied().collect()
    }

    /// Batches this process knows of.
    pub(super) fn known_batches(&self) -> Vec<ClaimBatchId> {
        let batches = lock(&self.batches);
        batches.open.keys().chain(&batches.done).copied().collect()
    }

    /// Batches whose jobs have all been recorded.
    pub(super) fn done_batches(&self) -> Vec<ClaimBatchId> {
        lock(&self.batches).done.clone()
    }

    /// They are deleted.
    pub(super) fn forget_batches(&self, deleted: &[ClaimBatchId]) {
        lock(&self.batches).done.retain(|id| !deleted.contains(id));
    }

    pub(super) fn running(&self) -> usize {
        lock(&self.running).len()
    }

    pub(super) fn busy_by_lane(&self) -> HashMap<IntegrationId, usize> {
        let mut busy = HashMap::new();
        for lane in lock(&self.running).values() {
            *busy.entry(*lane).or_default() += 1;
        }
        busy
    }

    /// Slots that may be filled. Results that cannot be recorded take slots up too, so that a slow database holds claims back, and so do
    /// handlers that block their threads.
    pub(super) fn free_slots(&self) -> usize {
        let held_back = self.unrecorded().saturating_sub(self.config.workers);
        self.config.workers.saturating_sub(self.running() + held_back + self.attempts.blocked())
    }

    pub(super) fn unrecorded(&self) -> usize {
        self.unrecorded.load(Ordering::Relaxed)
    }

    pub(super) fn add_unrecorded(&self) {
        // What is held elsewhere does not move, however well we do.
        if self.unrecorded.fetch_add(1, Ordering::Relaxed) <= self.held() {
            self.meters.results_move();
        }
    }

    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    pub(super) fn set_held(&self, count: usize) {
        self.held.store(count, Ordering::Relaxed);
    }

    pub(super) fn note_recorded(&self, count: usize) {
        self.unrecorded.fetch_sub(count, Ordering::Relaxed);
        self.meters.results_move();
        self.recorded.send_modify(|recorded| *recorded += count as u64);
        self.room.notify_one();
        self.lanes_emptied.notify_one();
        self.left.notify_one();
    }

    /// Whether results are to be recorded as soon as no more of them can come.
    pub(super) fn waits_for_results(&self) -> bool {
        self.waits_for_results.load(Ordering::Relaxed) && self.running() == 0
    }

    pub(super) fn set_waiting_for_results(&self, is_waiting: bool) {
        self.waits_for_results.store(is_waiting, Ordering::Relaxed);
    }

    pub(super) fn is_away(&self) -> bool {
        self.is_away.load(Ordering::Relaxed)
    }

    pub(super) fn set_away(&self, is_away: bool) {
        if self.is_away.swap(is_away, Ordering::Relaxed) != is_away {
            if is_away {
                tracing::warn!("the database cannot be reached: results are kept, nothing is claimed");
            } else {
                tracing::info!("the database is back");
                self.work.notify_one();
            }
        }
    }

    /// One of the loops has stopped: the process is of no use any more.
    pub(super) fn set_stuck(&self, part: &'static str) {
        let _ = self.stuck.set(part);
    }

    pub(super) fn stuck(&self) -> Option<&'static str> {
        self.stuck.get().copied()
    }

    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    pub(super) fn set_draining(&self, is_draining: bool) {
        self.is_draining.store(is_draining, Ordering::Relaxed);
    }
}
