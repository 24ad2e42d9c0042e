//! One claim: what was claimed before is reconciled, jobs are taken and their attempts begin, and the time of the next claim follows.

use crate::error::{Result, within};
use crate::store::jobs::{
    ClaimRequest, Claimed, ClaimedJob, Claimer, Durability, OwnClaims, release_orphans,
    terminate_stalled_claims, wait_until_durable,
};
use crate::store::promotion::wake_forgotten;
use crate::worker::claim::claims::Claims;
use crate::worker::claim::waits::WakeOn;
use crate::worker::handler::Peers;
use crate::worker::lease::Lease;
use model::id::IntegrationId;
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
/// The wait when something should be claimable and is not (another process is claiming it, or a limit is reached).
const MIN_WAIT: Duration = Duration::from_millis(100);

/// No statement of the claimer takes this long. A longer wait counts as a failure: the claimer must not wait for an answer that never comes while the
/// heartbeats on another connection go on. A connection whose answer was not awaited is refused by the pool, and dropped by the claimer.
pub(super) const CLAIM_TIMEOUT: Duration = Duration::from_secs(15);

/// Whether to search for claims whose answer was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reconcile {
    None,
    /// Nothing failed: searched for now and then.
    Routine,
    /// The failed statement may have been a claim.
    AfterFailure,
}

impl Reconcile {
    pub(super) fn after(failures: u32, reconciled_at: Instant) -> Self {
        match failures {
            0 if reconciled_at.elapsed() <= RECONCILE_INTERVAL => Self::None,
            0 => Self::Routine,
            _ => Self::AfterFailure,
        }
    }
}

/// The last answer about what is due next.
#[derive(Clone, Copy)]
pub(super) struct DueCheck {
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
pub(super) enum Next {
    /// There may be more jobs.
    AtOnce,
    /// There may be more jobs, once there are free slots.
    WithSlots,
    /// When woken, or after this time.
    After(WakeOn, Duration),
}

impl Claims {
    /// Makes one claim. Returns how many jobs it got, and when the next is to be made.
    pub(super) async fn round(
        self: &Arc<Self>,
        claimer: &mut Claimer,
        wanted: usize,
        reconcile: Reconcile,
        last_check: &mut Option<DueCheck>,
    ) -> Result<(usize, Next)> {
        let lease = self.lease.current();
        if reconcile != Reconcile::None {
            let known = OwnClaims {
                batches: self.batches.known(),
                running: self.runner.running.assignments(),
                stuck: self.batches.stuck(),
                is_claim_open: reconcile == Reconcile::AfterFailure,
            };
            let released =
                within(CLAIM_TIMEOUT, release_orphans(&self.pool, lease.worker_id, &known)).await?;
            // The leader's service does the same every two seconds where there is work; without a leader a forgotten lane sleeps no longer than this.
            within(CLAIM_TIMEOUT, wake_forgotten(&self.pool)).await?;
            if !released.is_empty() {
                self.batches.forget_stuck(&released);
                tracing::warn!(count = released.len(), "released jobs whose claim or end was never answered");
            }
        }
        let claims = ClaimRequest {
            worker_id: lease.worker_id,
            wanted,
            lane_cap: self.workers.div_ceil(2),
            busy: self.runner.running.by_lane(),
            program: self.program.clone(),
        };
        let asked_at = Instant::now();
        let (taken, durability) = within(CLAIM_TIMEOUT, claimer.claim(&claims)).await?;
        let claimed = taken.len();
        self.meters.claimed(claimed, asked_at.elapsed());
        let leases = taken.leases()?;
        self.add(taken.batch_id(), &leases);
        // In a task of its own, so that the next claim can go on.
        let claims = Arc::clone(self);
        tokio::spawn(async move {
            let batch_id = taken.batch_id();
            match claims.once_durable(taken, durability).await {
                Ok(jobs) => claims.start_attempts(jobs, &lease),
                Err(error) => {
                    tracing::warn!(error = %error.with_causes(), count = leases.len(), "claimed jobs are not begun: the database may have forgotten their leases");
                    claims.drop_claimed(batch_id, &leases);
                }
            }
        });
        if claimed >= wanted {
            return Ok((claimed, if wanted < self.fetch_limit { Next::WithSlots } else { Next::AtOnce }));
        }
        Ok((claimed, self.next(claimer, claimed, last_check).await))
    }

    /// When to claim again after a claim that got fewer jobs than it wanted.
    async fn next(&self, claimer: &mut Claimer, claimed: usize, last_check: &mut Option<DueCheck>) -> Next {
        if let Some(last) = *last_check
            && let Some(left) = DUE_CHECK_INTERVAL.checked_sub(last.at.elapsed())
        {
            return if last.are_lanes_left {
                last.next_turn(claimed)
            } else {
                Next::After(last.wake_on, left)
            };
        }
        match self.check_due(claimer, claimed, last_check).await {
            Ok(next) => next,
            // The claim itself succeeded, so nothing has to be reconciled, and the leader promotes due jobs too.
            Err(error) => {
                tracing::debug!(error = %error.with_causes(), "could not check what is due next");
                Next::After(WakeOn::WorkOrRecorded, self.poll())
            }
        }
    }

    /// How long to wait if there is still nothing to claim, which is cheaper to check than to claim. None: a claim finds out.
    pub(super) async fn still_idle(
        &self,
        claimer: &mut Claimer,
        last_check: &mut Option<DueCheck>,
    ) -> Option<Duration> {
        match self.check_due(claimer, 0, last_check).await {
            Ok(Next::After(WakeOn::Work, wait)) if wait > TURN_PAUSE => Some(wait),
            _ => None,
        }
    }

    /// Promotes due jobs and checks what is due next, after a claim that got fewer jobs than it wanted.
    async fn check_due(
        &self,
        claimer: &mut Claimer,
        claimed: usize,
        last_check: &mut Option<DueCheck>,
    ) -> Result<Next> {
        let program = self.program.as_deref();
        let ahead =
            within(CLAIM_TIMEOUT, claimer.find_next_work(MAX_PROMOTED, self.poll_interval, program)).await?;
        if ahead.promoted > 0 {
            return Ok(Next::AtOnce);
        }
        let wake_on = if ahead.is_work_left { WakeOn::WorkOrRecorded } else { WakeOn::Work };
        let check = DueCheck { at: Instant::now(), wake_on, are_lanes_left: ahead.are_lanes_left };
        *last_check = Some(check);
        if check.are_lanes_left {
            return Ok(check.next_turn(claimed));
        }
        let poll = self.poll();
        // After a claim that found nothing, "due now" means that something else is in the way.
        let shortest = if claimed > 0 { Duration::from_millis(5) } else { MIN_WAIT.min(poll) };
        Ok(Next::After(wake_on, ahead.wake_in.map_or(poll, |wake_in| wake_in.clamp(shortest, poll))))
    }

    /// The jobs, once a crash of the database cannot undo their claim.
    async fn once_durable(&self, taken: Claimed, durability: Durability) -> Result<Vec<ClaimedJob>> {
        if durability == Durability::AheadOfDisk {
            within(CLAIM_TIMEOUT, wait_until_durable(&self.pool)).await?;
        }
        taken.jobs()
    }

    /// Starts a task per job. Jobs that arrive while the engine stops are released.
    fn start_attempts(&self, jobs: Vec<ClaimedJob>, lease: &Arc<Lease>) {
        let is_stopping = self.no_more_claims.is_cancelled();
        let peers = peers(&jobs);
        for job in jobs {
            tracing::debug!(job.id = %job.id, job.type = %job.job_type, attempt.number = job.attempt, integration.id = %job.integration_id, "claimed");
            if is_stopping {
                self.runner.release(job);
            } else {
                let peers = peers.get(&job.integration_id).map(Arc::clone).unwrap_or_default();
                // Every log line of the attempt, including the handler's, carries these fields.
                let span = tracing::info_span!("attempt", job.id = %job.id, attempt.number = job.attempt, correlation_id = job.correlation_id, trace_id = job.trace.map(|trace| tracing::field::display(format!("{:032x}", trace.trace_id))));
                let attempt = Arc::clone(&self.runner).execute(job, peers, Arc::clone(lease));
                tokio::spawn(attempt.instrument(span));
            }
        }
    }

    /// Another process kept this one from its fairness turn: it may have been stopped during its own.
    pub(super) async fn end_stopped_turn(&self) {
        match within(CLAIM_TIMEOUT, terminate_stalled_claims(&self.pool)).await {
            Ok(0) => {}
            Ok(count) => tracing::warn!(
                count,
                "ended the claim of a process that did not read its answer and kept all others from claiming"
            ),
            Err(error) => {
                tracing::warn!(
                    error = %error.with_causes(),
                    "could not check whether a stopped process keeps the others from claiming"
                );
            }
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
