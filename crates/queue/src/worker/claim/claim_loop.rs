//! The claimer: claims jobs for all free slots of the process at once, whenever there may be work.

use crate::{
    error::QueueError,
    store::{
        jobs::{
            AttemptEnd, ClaimRequest, Claimed, ClaimedJob, Claimer, Durability, Ending, OwnClaims,
            release_orphans, terminate_stalled_claims, wait_until_durable,
        },
        promotion::wake_forgotten,
    },
    worker::{
        Peers,
        finish::finisher::{Finished, Finisher},
        lease::validity::Lease,
        limit::slots::AT_ONCE,
        run::execute::execute,
        state::shared::Shared,
    },
};
use model::id::IntegrationId;
use rand::Rng as _;
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::time::Instant;
use tracing::Instrument as _;

/// Due jobs promoted at once when a claim finds nothing.
const MAX_PROMOTED: i32 = 500;
/// How often claims without an answer are searched for even if nothing failed.
const RECONCILE_INTERVAL: Duration = Duration::from_secs(30);
/// Between claims that found nothing while there are lanes left to try.
const TURN_PAUSE: Duration = Duration::from_millis(5);
/// Shortest time between two checks of what is due next: new work wakes the claimer meanwhile.
const DUE_CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// A claim of this many jobs shows that they come faster than one at a time.
const SEVERAL: usize = 3;
/// Longest pause between two claims in that case.
const MAX_CLAIM_PAUSE: Duration = Duration::from_millis(3);
/// How long a full process waits for more slots to become free.
const GATHER_TIME: Duration = Duration::from_millis(2);
/// The wait when something should be claimable and is not (another process is claiming it, or a limit is reached).
const MIN_WAIT: Duration = Duration::from_millis(100);

/// No statement of the claimer takes this long. A longer wait counts as a failure: the claimer must not wait for an answer that never comes while the
/// heartbeats on another connection go on.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(15);

/// Claims until `no_more_claims` is cancelled.
pub(crate) async fn claim_loop(shared: Arc<Shared>, finisher: Finisher) {
    let mut registered = shared.is_registered.subscribe();
    let mut claimer = Claimer::new(&shared.pool);
    let mut failures = 0;
    let mut reconciled_at = Instant::now();
    let mut last_check = None;
    // Nothing claimable was left, and no wake-up has come since.
    let mut is_idle = false;
    let watched = shared.watchdog.watch("claims");
    while !shared.no_more_claims.is_cancelled() {
        shared.meters.claimer_moves();
        watched.waits_for_work();
        tokio::select! {
            () = shared.no_more_claims.cancelled() => return watched.ended(),
            result = registered.wait_for(|is_registered| *is_registered) => if result.is_err() { return watched.ended() },
        }
        let lease = shared.lease();
        if !lease.is_valid() {
            // This process was suspended, or gets no answers: what it claims now might be lost at once, and the loss would count against the job.
            tokio::select! {
                () = shared.no_more_claims.cancelled() => return watched.ended(),
                is_valid = lease.until_valid() => if !is_valid { continue },
            }
        }
        // A round is at most four statements and a wait.
        watched.alive_within(CLAIM_TIMEOUT * 4 + shared.config.poll_interval.mul_f64(1.2));
        let wanted = shared.free_slots().min(shared.config.fetch_limit);
        if wanted == 0 || shared.is_away() || shared.is_draining() {
            wait_for(&shared, WakeOn::WorkOrSlot, shared.config.poll_interval).await;
            gather_free_slots(&shared).await;
            continue;
        }
        if shared.has_dropped() {
            failures += 1;
            back_off(&shared, failures).await;
        }
        let reconcile = Reconcile::after(failures, reconciled_at);
        let began_at = Instant::now();
        if std::mem::take(&mut is_idle)
            && reconcile == Reconcile::None
            && let Some(wait) = still_idle(&shared, &mut claimer, &mut last_check).await
        {
            is_idle = wait_for(&shared, WakeOn::Work, wait).await == Waited::TimedOut;
            continue;
        }
        match round(&shared, &mut claimer, &finisher, wanted, reconcile, &mut last_check).await {
            Ok((claimed, next)) => {
                failures = 0;
                if reconcile != Reconcile::None {
                    reconciled_at = Instant::now();
                }
                match next {
                    Next::AtOnce => {}
                    Next::WithSlots => gather_free_slots(&shared).await,
                    Next::After(wake_on, wait) => {
                        // Where several jobs arrive during one claim, or other processes claim them first, this one pauses for as long as the claim
                        // took: the next claim gets more jobs at once, and none of them waits longer than a claim takes anyway.
                        if claimed >= SEVERAL || (claimed == 0 && shared.running() > 0) {
                            tokio::time::sleep(began_at.elapsed().min(MAX_CLAIM_PAUSE)).await;
                        }
                        is_idle = wait_for(&shared, wake_on, wait).await == Waited::TimedOut
                            && wake_on == WakeOn::Work;
                    }
                }
            }
            Err(error) => {
                failures += 1;
                if failures == 1 || !error.is_unavailable() {
                    tracing::warn!(%error, source = ?std::error::Error::source(&error), "nothing claimed");
                }
                if error.is_lock_timeout() {
                    end_stopped_turn(&shared).await;
                }
                back_off(&shared, failures).await;
            }
        }
    }
    watched.ended();
}

/// Another process kept this one from its fairness turn: it may have been stopped during its own.
async fn end_stopped_turn(shared: &Shared) {
    match in_time(terminate_stalled_claims(&shared.pool)).await {
        Ok(0) => {}
        Ok(count) => tracing::warn!(
            count,
            "ended the claim of a process that did not read its answer and kept all others from claiming"
        ),
        Err(error) => {
            tracing::warn!(%error, "could not check whether a stopped process keeps the others from claiming");
        }
    }
}

/// Waits after a failure, longer each time.
async fn back_off(shared: &Shared, failures: u32) {
    let wait = Duration::from_millis(100 << u32::min(failures, 5));
    tokio::select! {
        () = shared.no_more_claims.cancelled() => {}
        () = tokio::time::sleep(wait.mul_f64(0.5 + rand::rng().random::<f64>())) => {}
    }
}

/// Whether to search for claims whose answer was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reconcile {
    None,
    /// Nothing failed: searched for now and then.
    Routine,
    /// The failed statement may have been a claim.
    AfterFailure,
}

impl Reconcile {
    fn after(failures: u32, reconciled_at: Instant) -> Self {
        match failures {
            0 if reconciled_at.elapsed() <= RECONCILE_INTERVAL => Self::None,
            0 => Self::Routine,
            _ => Self::AfterFailure,
        }
    }
}

/// The last answer about what is due next.
#[derive(Clone, Copy)]
struct DueCheck {
    at: Instant,
    wake_on: WakeOn,
    are_lanes_left: bool,
}

impl DueCheck {
    /// The next claim when there are lanes that the last one did not reach.
    fn next_turn(self, claimed: usize) -> Next {
        if claimed > 0 { Next::AtOnce } else { Next::After(self.wake_on, TURN_PAUSE) }
    }
}

/// When the next claim is made.
enum Next {
    /// There may be more jobs.
    AtOnce,
    /// There may be more jobs, once there are free slots.
    WithSlots,
    /// When woken, or after this time.
    After(WakeOn, Duration),
}

/// Makes one claim. Returns how many jobs it got, and when the next is to be made.
async fn round(
    shared: &Arc<Shared>,
    claimer: &mut Claimer,
    finisher: &Finisher,
    wanted: usize,
    reconcile: Reconcile,
    last_check: &mut Option<DueCheck>,
) -> Result<(usize, Next), QueueError> {
    let lease = shared.lease();
    if reconcile != Reconcile::None {
        let known = OwnClaims {
            batches: shared.known_batches(),
            running: shared.running_assignments(),
            stuck: shared.unwritable(),
            is_claim_open: reconcile == Reconcile::AfterFailure,
        };
        let released = in_time(release_orphans(&shared.pool, lease.worker_id, &known)).await?;
        // The leader's service does the same every two seconds where there is work; without a leader a forgotten lane sleeps no longer than this.
        in_time(wake_forgotten(&shared.pool)).await?;
        if !released.is_empty() {
            shared.forget_stuck(&released);
            tracing::warn!(count = released.len(), "released jobs whose claim or end was never answered");
        }
    }
    let claims = ClaimRequest {
        worker_id: lease.worker_id,
        wanted,
        lane_cap: shared.config.workers.div_ceil(2),
        busy: shared.busy_by_lane(),
        program: shared.handlers.program_name().map(str::to_owned),
    };
    let asked_at = Instant::now();
    let (taken, durability) = in_time(claimer.claim(&claims)).await?;
    let claimed = taken.len();
    shared.meters.claimed(claimed, asked_at.elapsed());
    let leases = taken.leases()?;
    shared.add_claimed(taken.batch_id(), &leases);
    // In a task of its own, so that the next claim can go on.
    let (shared_too, finisher) = (Arc::clone(shared), finisher.clone());
    tokio::spawn(async move {
        let batch_id = taken.batch_id();
        match once_durable(&shared_too, taken, durability).await {
            Ok(jobs) => start_attempts(&shared_too, &finisher, jobs, &lease),
            Err(error) => {
                tracing::warn!(%error, count = leases.len(), "claimed jobs are not begun: the database may have forgotten their leases");
                shared_too.drop_claimed(batch_id, &leases);
            }
        }
    });
    if claimed >= wanted {
        return Ok((
            claimed,
            if wanted < shared.config.fetch_limit { Next::WithSlots } else { Next::AtOnce },
        ));
    }
    Ok((claimed, next(shared, claimer, claimed, last_check).await))
}

/// When to claim again after a claim that got fewer jobs than it wanted.
async fn next(
    shared: &Shared,
    claimer: &mut Claimer,
    claimed: usize,
    last_check: &mut Option<DueCheck>,
) -> Next {
    if let Some(last) = *last_check
        && let Some(left) = DUE_CHECK_INTERVAL.checked_sub(last.at.elapsed())
    {
        return if last.are_lanes_left { last.next_turn(claimed) } else { Next::After(last.wake_on, left) };
    }
    match check_due(shared, claimer, claimed, last_check).await {
        Ok(next) => next,
        // The claim itself succeeded, so nothing has to be reconciled, and the leader promotes due jobs too.
        Err(error) => {
            tracing::debug!(%error, source = ?std::error::Error::source(&error), "could not check what is due next");
            Next::After(WakeOn::WorkOrRecorded, poll(shared))
        }
    }
}

/// How long to wait if there is still nothing to claim, which is cheaper to check than to claim. None: a claim finds out.
async fn still_idle(
    shared: &Shared,
    claimer: &mut Claimer,
    last_check: &mut Option<DueCheck>,
) -> Option<Duration> {
    match check_due(shared, claimer, 0, last_check).await {
        Ok(Next::After(WakeOn::Work, wait)) if wait > TURN_PAUSE => Some(wait),
        _ => None,
    }
}

/// Promotes due jobs and checks what is due next, after a claim that got fewer jobs than it wanted.
async fn check_due(
    shared: &Shared,
    claimer: &mut Claimer,
    claimed: usize,
    last_check: &mut Option<DueCheck>,
) -> Result<Next, QueueError> {
    let program = shared.handlers.program_name();
    let ahead = in_time(claimer.find_next_work(MAX_PROMOTED, shared.config.poll_interval, program)).await?;
    if ahead.promoted > 0 {
        return Ok(Next::AtOnce);
    }
    let wake_on = if ahead.is_work_left { WakeOn::WorkOrRecorded } else { WakeOn::Work };
    let check = DueCheck { at: Instant::now(), wake_on, are_lanes_left: ahead.are_lanes_left };
    *last_check = Some(check);
    if check.are_lanes_left {
        return Ok(check.next_turn(claimed));
    }
    let poll = poll(shared);
    // After a claim that found nothing, "due now" means that something else is in the way.
    let shortest = if claimed > 0 { Duration::from_millis(5) } else { MIN_WAIT.min(poll) };
    Ok(Next::After(wake_on, ahead.wake_in.map_or(poll, |wake_in| wake_in.clamp(shortest, poll))))
}

/// The poll interval, spread by chance so that processes do not poll in step.
fn poll(shared: &Shared) -> Duration {
    shared.config.poll_interval.mul_f64(0.8 + 0.4 * rand::rng().random::<f64>())
}

/// A connection whose answer was not awaited is refused by the pool, and dropped by the claimer.
async fn in_time<T>(asked: impl Future<Output = Result<T, QueueError>>) -> Result<T, QueueError> {
    tokio::time::timeout(CLAIM_TIMEOUT, asked).await.unwrap_or_else(|_| Err(QueueError::no_answer()))
}

/// The jobs, once a crash of the database cannot undo their claim.
async fn once_durable(
    shared: &Shared,
    taken: Claimed,
    durability: Durability,
) -> Result<Vec<ClaimedJob>, QueueError> {
    if durability == Durability::AheadOfDisk {
        in_time(wait_until_durable(&shared.pool)).await?;
    }
    taken.jobs()
}

/// Starts a task per job. Jobs that arrive while the engine stops are released.
fn start_attempts(shared: &Arc<Shared>, finisher: &Finisher, jobs: Vec<ClaimedJob>, lease: &Arc<Lease>) {
    let is_stopping = shared.no_more_claims.is_cancelled();
    let peers = peers(&jobs);
    for job in jobs {
        tracing::debug!(job.id = %job.id, job.type = %job.job_type, attempt.number = job.attempt, integration.id = %job.integration_id, "claimed");
        if is_stopping {
            let end = AttemptEnd::of(&job, Duration::ZERO, Ending::Released { until: AT_ONCE });
            shared.free_slot(job.assignment_id);
            finisher.record(Finished::new(job, end, None, None));
        } else {
            let peers = peers.get(&job.integration_id).map(Arc::clone).unwrap_or_default();
            // Every log line of the attempt, including the handler's, carries these fields.
            let span = tracing::info_span!("attempt", job.id = %job.id, attempt.number = job.attempt, correlation_id = job.correlation_id, trace_id = job.trace.map(|trace| tracing::field::display(format!("{:032x}", trace.trace_id))));
            let attempt = execute(Arc::clone(shared), finisher.clone(), job, peers, Arc::clone(lease));
            tokio::spawn(attempt.instrument(span));
        }
    }
}

/// The peers of each lane, without expired jobs, which do not run.
fn peers(jobs: &[ClaimedJob]) -> HashMap<IntegrationId, Arc<Peers>> {
    let mut counts: HashMap<IntegrationId, usize> = HashMap::new();
    for job in jobs.iter().filter(|job| !job.is_expired) {
        *counts.entry(job.integration_id).or_default() += 1;
    }
    counts.into_iter().map(|(lane, count)| (lane, Arc::new(Peers::new(count)))).collect()
}

/// What wakes the claimer early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WakeOn {
    /// Only new work: everything claimable was claimed.
    Work,
    /// Also a free slot of this process: all were taken.
    WorkOrSlot,
    /// Also recorded results: something claimable was left because its lane is full.
    WorkOrRecorded,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waited {
    /// There may be something to claim, or there are to be no more claims.
    Woken,
    TimedOut,
}

async fn wait_for(shared: &Shared, wake_on: WakeOn, at_most: Duration) -> Waited {
    shared.set_waiting_for_results(wake_on == WakeOn::WorkOrRecorded);
    let waited = tokio::select! {
        () = shared.no_more_claims.cancelled() => Waited::Woken,
        () = shared.work.notified() => Waited::Woken,
        () = shared.slot_freed.notified(), if wake_on == WakeOn::WorkOrSlot => Waited::Woken,
        () = results_recorded(shared), if wake_on == WakeOn::WorkOrRecorded => Waited::Woken,
        () = tokio::time::sleep(at_most) => Waited::TimedOut,
    };
    shared.set_waiting_for_results(false);
    waited
}

/// Returns when results are recorded, or a moment later while more are about to be: a claim for each part would get few jobs each.
async fn results_recorded(shared: &Shared) {
    shared.lanes_emptied.notified().await;
    let all = async {
        while shared.unrecorded() > shared.locked_elsewhere() {
            shared.lanes_emptied.notified().await;
        }
    };
    // What is recorded by then is enough for a claim.
    let _ = tokio::time::timeout(GATHER_TIME, all).await;
}

/// All slots were taken, and jobs end one by one: a claim for each would cost more than the job. Waits until a quarter of the slots is free, or a
/// moment.
async fn gather_free_slots(shared: &Shared) {
    let is_enough = || shared.free_slots() * 4 >= shared.config.workers;
    let enough = async {
        while !is_enough() {
            shared.slot_freed.notified().await;
        }
    };
    if shared.free_slots() > 0 {
        tokio::select! {
            () = shared.no_more_claims.cancelled() => {}
            () = enough => {}
            () = tokio::time::sleep(GATHER_TIME) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        EngineConfig,
        worker::{AttemptHandler, Handlers, LeasedJob, Outcome},
    };
    use futures::{FutureExt as _, poll};
    use std::pin::pin;

    struct Nothing;

    #[async_trait::async_trait]
    impl AttemptHandler for Nothing {
        async fn run(&self, _: &LeasedJob) -> Outcome {
            Outcome::Released { until: AT_ONCE }
        }
    }

    #[tokio::test]
    async fn a_process_suspended_beyond_its_lease_claims_nothing_before_a_heartbeat_is_answered() {
        let pool = sqlx::PgPool::connect_lazy("postgres://nobody.invalid").unwrap();
        let handlers = Handlers::new(Arc::new(Nothing));
        let shared = Arc::new(Shared::new(pool, EngineConfig::default(), handlers));
        shared.is_registered.send_replace(true);
        let lease = shared.lease();
        let (finisher, _recorded) = Finisher::start(Arc::clone(&shared));
        let mut claiming = pin!(claim_loop(Arc::clone(&shared), finisher));
        assert!(poll!(&mut claiming).is_pending());
        assert!(lease.heartbeat_wanted.notified().now_or_never().is_some(), "it waits for the heartbeat");
        shared.lose_lease();
        assert!(poll!(&mut claiming).is_pending(), "and for the next registration");
        shared.no_more_claims.cancel();
        assert!(poll!(&mut claiming).is_ready());
    }
}
