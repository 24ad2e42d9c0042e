//! The claimer: asks for all idle slots of the process at once, whenever there may be work.

use crate::{
    error::QueueError,
    store::{
        jobs::{
            Claimed, ClaimedJob, Claimer, Claims, Durability, End, Ending, Known, end_stopped_claims,
            give_back_unknown, reach_disk,
        },
        promotion::wake_forgotten,
    },
    worker::{
        Peers,
        execute::execute,
        finisher::{Finished, Finisher},
        lease::Lease,
        shared::Shared,
        slots::AT_ONCE,
    },
};
use model::id::IntegrationId;
use rand::Rng as _;
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::time::Instant;
use tracing::Instrument as _;

/// Due jobs moved in one go when a claim finds nothing.
const PROMOTED: i32 = 500;
/// How often claims without an answer are looked for although nothing failed.
const RECONCILED_EVERY: Duration = Duration::from_secs(30);
/// Between claims that found nothing while there are lanes left to look at.
const BETWEEN_TURNS: Duration = Duration::from_millis(5);
/// What is due next is asked for no more often: what comes in meanwhile rings.
const LOOKED_EVERY: Duration = Duration::from_millis(20);
/// Jobs of a claim that show that more come in than one at a time.
const SEVERAL: usize = 3;
/// Between two claims where they do.
const LONGEST_BREATH: Duration = Duration::from_millis(3);
/// How long a full process gathers slots that come free.
const GATHER_ROOM: Duration = Duration::from_millis(2);
/// The wait when something should be claimable and is not (another process is at it, or a cap is full).
const SHORTEST: Duration = Duration::from_millis(100);

/// Nothing of the database's takes so long. Whatever took longer was cut off, and counts as a failure: the claimer must not wait for an
/// answer that never comes, while heartbeats on another connection go on.
const PATIENCE: Duration = Duration::from_secs(15);

/// Claims until there are to be no more claims.
pub(super) async fn claim_loop(shared: Arc<Shared>, finisher: Finisher) {
    let mut registered = shared.is_registered.subscribe();
    let mut claimer = Claimer::new(&shared.pool);
    let mut failures = 0;
    let mut reconciled_at = Instant::now();
    let mut last_look = None;
    // Nothing claimable was left, and nobody said since that there is.
    let mut is_quiet = false;
    let pulse = shared.pulses.watch("claims");
    while !shared.no_more_claims.is_cancelled() {
        shared.meters.claimer_moves();
        pulse.rests();
        tokio::select! {
            () = shared.no_more_claims.cancelled() => return pulse.ended(),
            result = registered.wait_for(|is_registered| *is_registered) => if result.is_err() { return pulse.ended() },
        }
        let lease = shared.lease();
        if !lease.stands() {
            // This process slept, or hears nothing: what it claims now might be lost at once, and the loss counted against the job.
            tokio::select! {
                () = shared.no_more_claims.cancelled() => return pulse.ended(),
                stands = lease.stands_after_all() => if !stands { continue },
            }
        }
        // A round is four answers at most and a rest.
        pulse.within(PATIENCE * 4 + shared.config.poll_interval.mul_f64(1.2));
        let wanted = shared.free_slots().min(shared.config.fetch_limit);
        if wanted == 0 || shared.is_away() || shared.is_draining() {
            rest(&shared, Until::WorkOrRoom, shared.config.poll_interval).await;
            gather_room(&shared).await;
            continue;
        }
        if shared.has_left() {
            failures += 1;
            pause(&shared, failures).await;
        }
        let doubt = Doubt::after(failures, reconciled_at);
        let began_at = Instant::now();
        if std::mem::take(&mut is_quiet)
            && doubt == Doubt::None
            && let Some(wait) = still_quiet(&shared, &mut claimer, &mut last_look).await
        {
            is_quiet = rest(&shared, Until::Work, wait).await == Rested::ToTheEnd;
            continue;
        }
        match round(&shared, &mut claimer, &finisher, wanted, doubt, &mut last_look).await {
            Ok((claimed, next)) => {
                failures = 0;
                if doubt != Doubt::None {
                    reconciled_at = Instant::now();
                }
                match next {
                    Next::AtOnce => {}
                    Next::WithRoom => gather_room(&shared).await,
                    Next::After(until, wait) => {
                        // Where several jobs come in while one claim is made, or others take what comes, it is claimed half of the time: more
                        // at once, and nobody waits longer for it than a claim takes anyway.
                        if claimed >= SEVERAL || (claimed == 0 && shared.running() > 0) {
                            tokio::time::sleep(began_at.elapsed().min(LONGEST_BREATH)).await;
                        }
                        is_quiet =
                            rest(&shared, until, wait).await == Rested::ToTheEnd && until == Until::Work;
                    }
                }
            }
            Err(error) => {
                failures += 1;
                if failures == 1 || !error.is_unavailable() {
                    tracing::warn!(%error, source = ?std::error::Error::source(&error), "nothing claimed");
                }
                if error.waited_for_a_lock() {
                    free_turn(&shared).await;
                }
                pause(&shared, failures).await;
            }
        }
    }
    pulse.ended();
}

/// When others kept this process from its turn: they may be stopped amid theirs.
async fn free_turn(shared: &Shared) {
    match in_time(end_stopped_claims(&shared.pool)).await {
        Ok(0) => {}
        Ok(count) => tracing::warn!(
            count,
            "ended the claim of a process that did not take its answer: no other could claim"
        ),
        Err(error) => {
            tracing::warn!(%error, "nobody knows whether a stopped process keeps the others from claiming");
        }
    }
}

/// Between failures, longer each time.
async fn pause(shared: &Shared, failures: u32) {
    let pause = Duration::from_millis(100 << u32::min(failures, 5));
    tokio::select! {
        () = shared.no_more_claims.cancelled() => {}
        () = tokio::time::sleep(pause.mul_f64(0.5 + rand::rng().random::<f64>())) => {}
    }
}

/// Whether there may be claims without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    None,
    /// Nothing failed: looked for now and then.
    Routine,
    /// What failed may have been a claim, whose answer was lost.
    AfterFailure,
}

impl Doubt {
    fn after(failures: u32, reconciled_at: Instant) -> Self {
        match failures {
            0 if reconciled_at.elapsed() <= RECONCILED_EVERY => Self::None,
            0 => Self::Routine,
            _ => Self::AfterFailure,
        }
    }
}

/// What was last found out about what is due next.
#[derive(Clone, Copy)]
struct Look {
    at: Instant,
    until: Until,
    are_lanes_left: bool,
}

impl Look {
    /// When lanes are left that the claim did not come to.
    fn next_turn(self, claimed: usize) -> Next {
        if claimed > 0 { Next::AtOnce } else { Next::After(self.until, BETWEEN_TURNS) }
    }
}

/// When the next claim is made.
enum Next {
    /// There may be more.
    AtOnce,
    /// There may be more, once there is room for it.
    WithRoom,
    /// When something makes it worth it, or this much later.
    After(Until, Duration),
}

/// One claim. Answers how many jobs it took, and when the next is made.
async fn round(
    shared: &Arc<Shared>,
    claimer: &mut Claimer,
    finisher: &Finisher,
    wanted: usize,
    doubt: Doubt,
    last_look: &mut Option<Look>,
) -> Result<(usize, Next), QueueError> {
    let lease = shared.lease();
    if doubt != Doubt::None {
        let known = Known {
            batches: shared.known_batches(),
            running: shared.running_assignments(),
            stuck: shared.unwritable(),
            is_claim_open: doubt == Doubt::AfterFailure,
        };
        let given_back = in_time(give_back_unknown(&shared.pool, lease.worker_id, &known)).await?;
        // The leader's service does so every two seconds where there is work; should there be none, a lane sleeps no longer than this.
        in_time(wake_forgotten(&shared.pool)).await?;
        if !given_back.is_empty() {
            shared.forget_stuck(&given_back);
            tracing::warn!(count = given_back.len(), "gave back jobs whose claim or end was never answered");
        }
    }
    let claims = Claims {
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
    shared.take_in(taken.batch_id(), &leases);
    // By a task of its own: the next claim goes on meanwhile.
    let (shared_too, finisher) = (Arc::clone(shared), finisher.clone());
    tokio::spawn(async move {
        let batch_id = taken.batch_id();
        match certain(&shared_too, taken, durability).await {
            Ok(jobs) => begin(&shared_too, &finisher, jobs, &lease),
            Err(error) => {
                tracing::warn!(%error, count = leases.len(), "claimed jobs are not begun: the database may have forgotten their leases");
                shared_too.leave(batch_id, &leases);
            }
        }
    });
    if claimed >= wanted {
        return Ok((claimed, if wanted < shared.config.fetch_limit { Next::WithRoom } else { Next::AtOnce }));
    }
    Ok((claimed, next(shared, claimer, claimed, last_look).await))
}

/// When the next claim is made after one that got so many, and less than it wanted.
async fn next(shared: &Shared, claimer: &mut Claimer, claimed: usize, last_look: &mut Option<Look>) -> Next {
    if let Some(look) = *last_look
        && let Some(left) = LOOKED_EVERY.checked_sub(look.at.elapsed())
    {
        return if look.are_lanes_left { look.next_turn(claimed) } else { Next::After(look.until, left) };
    }
    match look(shared, claimer, claimed, last_look).await {
        Ok(next) => next,
        // The claim went well: nothing is in doubt, and what is due is the leader's business too.
        Err(error) => {
            tracing::debug!(%error, source = ?std::error::Error::source(&error), "nothing is known of what is due next");
            Next::After(Until::WorkOrRecorded, poll(shared))
        }
    }
}

/// How long to wait when there is still nothing to claim: a look is cheaper than a claim. None: a claim finds out.
async fn still_quiet(
    shared: &Shared,
    claimer: &mut Claimer,
    last_look: &mut Option<Look>,
) -> Option<Duration> {
    match look(shared, claimer, 0, last_look).await {
        Ok(Next::After(Until::Work, wait)) if wait > BETWEEN_TURNS => Some(wait),
        _ => None,
    }
}

/// What there is to do after a claim that got so many, and less than it wanted.
async fn look(
    shared: &Shared,
    claimer: &mut Claimer,
    claimed: usize,
    last_look: &mut Option<Look>,
) -> Result<Next, QueueError> {
    let program = shared.handlers.program_name();
    let ahead = in_time(claimer.look_ahead(PROMOTED, shared.config.poll_interval, program)).await?;
    if ahead.promoted > 0 {
        return Ok(Next::AtOnce);
    }
    let until = if ahead.is_work_left { Until::WorkOrRecorded } else { Until::Work };
    let look = Look { at: Instant::now(), until, are_lanes_left: ahead.are_lanes_left };
    *last_look = Some(look);
    if look.are_lanes_left {
        return Ok(look.next_turn(claimed));
    }
    let poll = poll(shared);
    // After a claim that found nothing, "at once" means that something else is in the way.
    let shortest = if claimed > 0 { Duration::from_millis(5) } else { SHORTEST.min(poll) };
    Ok(Next::After(until, ahead.wake_in.map_or(poll, |wake_in| wake_in.clamp(shortest, poll))))
}

/// The interval of polling; not the same in all processes at once.
fn poll(shared: &Shared) -> Duration {
    shared.config.poll_interval.mul_f64(0.8 + 0.4 * rand::rng().random::<f64>())
}

/// A connection whose answer was not waited for is refused by the pool, and dropped by the claimer.
async fn in_time<T>(asked: impl Future<Output = Result<T, QueueError>>) -> Result<T, QueueError> {
    tokio::time::timeout(PATIENCE, asked).await.unwrap_or_else(|_| Err(QueueError::no_answer()))
}

/// The jobs, once nothing can undo their claim.
async fn certain(
    shared: &Shared,
    taken: Claimed,
    durability: Durability,
) -> Result<Vec<ClaimedJob>, QueueError> {
    if durability == Durability::AheadOfDisk {
        in_time(reach_disk(&shared.pool)).await?;
    }
    taken.jobs()
}

/// Starts a task per job. Jobs that came while the engine was told to stop go back unstarted.
fn begin(shared: &Arc<Shared>, finisher: &Finisher, jobs: Vec<ClaimedJob>, lease: &Arc<Lease>) {
    let is_stopping = shared.no_more_claims.is_cancelled();
    let peers = peers(&jobs);
    for job in jobs {
        tracing::debug!(job.id = %job.id, job.type = %job.job_type, attempt.number = job.attempt, integration.id = %job.integration_id, "claimed");
        if is_stopping {
            let end = End::of(&job, Duration::ZERO, Ending::Released { until: AT_ONCE });
            shared.let_go(job.assignment_id);
            finisher.record(Finished::new(job, end, None, None));
        } else {
            let peers = peers.get(&job.integration_id).map(Arc::clone).unwrap_or_default();
            // Whatever is logged on the way, also by a handler, says what it is about.
            let span = tracing::info_span!("attempt", job.id = %job.id, attempt.number = job.attempt, correlation_id = job.correlation_id, trace_id = job.trace.map(|trace| tracing::field::display(format!("{:032x}", trace.trace_id))));
            let attempt = execute(Arc::clone(shared), finisher.clone(), job, peers, Arc::clone(lease));
            tokio::spawn(attempt.instrument(span));
        }
    }
}

/// Who came with whom; expired jobs do not run.
fn peers(jobs: &[ClaimedJob]) -> HashMap<IntegrationId, Arc<Peers>> {
    let mut counts: HashMap<IntegrationId, usize> = HashMap::new();
    for job in jobs.iter().filter(|job| !job.is_expired) {
        *counts.entry(job.integration_id).or_default() += 1;
    }
    counts.into_iter().map(|(lane, count)| (lane, Arc::new(Peers::new(count)))).collect()
}

/// What makes the next claim worth it before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// New work alone: all that was claimable is claimed.
    Work,
    /// A slot of this process, too: they were all taken.
    WorkOrRoom,
    /// Results that are recorded, too: something claimable was left, because its lane is full.
    WorkOrRecorded,
}

/// What ended a rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rested {
    /// Something makes a claim worth it, or there are to be no more.
    Woken,
    /// Its time alone.
    ToTheEnd,
}

/// Waits for what makes a claim worth it, at most this long.
async fn rest(shared: &Shared, until: Until, at_most: Duration) -> Rested {
    shared.set_waiting_for_results(until == Until::WorkOrRecorded);
    let rested = tokio::select! {
        () = shared.no_more_claims.cancelled() => Rested::Woken,
        () = shared.work.notified() => Rested::Woken,
        () = shared.room.notified(), if until == Until::WorkOrRoom => Rested::Woken,
        () = results_recorded(shared), if until == Until::WorkOrRecorded => Rested::Woken,
        () = tokio::time::sleep(at_most) => Rested::ToTheEnd,
    };
    shared.set_waiting_for_results(false);
    rested
}

/// Until results are recorded, and a moment longer while more of them are about to be: a claim for each part would get a part each.
async fn results_recorded(shared: &Shared) {
    shared.lanes_emptied.notified().await;
    let all = async {
        while shared.unrecorded() > shared.held() {
            shared.lanes_emptied.notified().await;
        }
    };
    // Whatever is recorded by then is worth a claim.
    let _ = tokio::time::timeout(GATHER_ROOM, all).await;
}

/// All slots were filled, and jobs end one by one: a claim for each would cost more than the job. Waits for a quarter of the slots, or a moment.
async fn gather_room(shared: &Shared) {
    let is_enough = || shared.free_slots() * 4 >= shared.config.workers;
    let enough = async {
        while !is_enough() {
            shared.room.notified().await;
        }
    };
    if shared.free_slots() > 0 {
        tokio::select! {
            () = shared.no_more_claims.cancelled() => {}
            () = enough => {}
            () = tokio::time::sleep(GATHER_ROOM) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        EngineConfig,
        worker::{AttemptHandler, Handlers, HeldJob, Outcome},
    };
    use futures::{FutureExt as _, poll};
    use std::pin::pin;

    struct Nothing;

    #[async_trait::async_trait]
    impl AttemptHandler for Nothing {
        async fn run(&self, _: &HeldJob) -> Outcome {
            Outcome::Released { until: AT_ONCE }
        }
    }

    #[tokio::test]
    async fn who_slept_beyond_the_lease_claims_nothing_before_a_heartbeat_was_answered() {
        let pool = sqlx::PgPool::connect_lazy("postgres://nobody.invalid").unwrap();
        let handlers = Handlers::new(Arc::new(Nothing));
        let shared = Arc::new(Shared::new(pool, EngineConfig::default(), handlers));
        shared.is_registered.send_replace(true);
        let lease = shared.lease();
        let (finisher, _recorded) = Finisher::start(Arc::clone(&shared));
        let mut claiming = pin!(claim_loop(Arc::clone(&shared), finisher));
        assert!(poll!(&mut claiming).is_pending());
        assert!(lease.asked_for.notified().now_or_never().is_some(), "it waits for the heartbeat");
        shared.lose_lease();
        assert!(poll!(&mut claiming).is_pending(), "and for the next registration");
        shared.no_more_claims.cancel();
        assert!(poll!(&mut claiming).is_ready());
    }
}
