//! The claimer: claims jobs for all free slots of the process at once, whenever there may be work.

use crate::store::jobs::Claimer;
use crate::worker::claim::claims::Claims;
use crate::worker::claim::round::{CLAIM_TIMEOUT, Next, Reconcile};
use crate::worker::claim::waits::{Waited, WakeOn};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// A claim of this many jobs shows that they come faster than one at a time.
const SEVERAL: usize = 3;
/// Longest pause between two claims in that case.
const MAX_CLAIM_PAUSE: Duration = Duration::from_millis(3);

/// Claims until `no_more_claims` is cancelled.
pub(crate) async fn claim_loop(claims: Arc<Claims>) {
    let mut registered = claims.lease.watch_registered();
    let mut claimer = Claimer::new(&claims.pool);
    let mut failures = 0_u32;
    let mut reconciled_at = Instant::now();
    let mut last_check = None;
    // Nothing claimable was left, and no wake-up has come since.
    let mut is_idle = false;
    let watched = claims.watchdog.watch("claims");
    while !claims.no_more_claims.is_cancelled() {
        claims.meters.claimer_moves();
        watched.waits_for_work();
        tokio::select! {
            () = claims.no_more_claims.cancelled() => return watched.ended(),
            result = registered.wait_for(|is_registered| *is_registered) => if result.is_err() { return watched.ended() },
        }
        let lease = claims.lease.current();
        if !lease.is_valid() {
            // This process was suspended, or gets no answers: what it claims now might be lost at once, and the loss would count against the job.
            tokio::select! {
                () = claims.no_more_claims.cancelled() => return watched.ended(),
                is_valid = lease.until_valid() => if !is_valid { continue },
            }
        }
        // A round is at most four statements and a wait.
        watched.alive_within(CLAIM_TIMEOUT * 4 + claims.poll_interval.mul_f64(1.2));
        let wanted = claims.free_slots().min(claims.fetch_limit);
        if wanted == 0 || claims.availability.is_away() || claims.lease.is_draining() {
            claims.wait_for(WakeOn::WorkOrSlot, claims.poll_interval).await;
            claims.gather_free_slots().await;
            continue;
        }
        if claims.has_dropped() {
            failures += 1;
            claims.back_off(failures).await;
        }
        let reconcile = Reconcile::after(failures, reconciled_at);
        let began_at = Instant::now();
        if std::mem::take(&mut is_idle)
            && reconcile == Reconcile::None
            && let Some(wait) = claims.still_idle(&mut claimer, &mut last_check).await
        {
            is_idle = claims.wait_for(WakeOn::Work, wait).await == Waited::TimedOut;
            continue;
        }
        match claims.round(&mut claimer, wanted, reconcile, &mut last_check).await {
            Ok((claimed, next)) => {
                if failures > 0 {
                    tracing::info!(failures, "jobs are claimed again");
                }
                failures = 0;
                if reconcile != Reconcile::None {
                    reconciled_at = Instant::now();
                }
                match next {
                    Next::AtOnce => {}
                    Next::WithSlots => claims.gather_free_slots().await,
                    Next::After(wake_on, wait) => {
                        // Where several jobs arrive during one claim, or other processes claim them first, this one pauses for as long as the claim
                        // took: the next claim gets more jobs at once, and none of them waits longer than a claim takes anyway.
                        if claimed >= SEVERAL || (claimed == 0 && claims.runner.running.count() > 0) {
                            tokio::time::sleep(began_at.elapsed().min(MAX_CLAIM_PAUSE)).await;
                        }
                        is_idle = claims.wait_for(wake_on, wait).await == Waited::TimedOut
                            && wake_on == WakeOn::Work;
                    }
                }
            }
            Err(error) => {
                failures += 1;
                // One line for the first failure in a row, and then ever fewer.
                if failures.is_power_of_two() {
                    tracing::warn!(failures, error = %error.with_causes(), "nothing claimed");
                }
                if error.is_lock_timeout() {
                    claims.end_stopped_turn().await;
                }
                claims.back_off(failures).await;
            }
        }
    }
    watched.ended();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::handler::{AttemptHandler, Handlers, LeasedJob, Outcome};
    use crate::worker::lease::ProcessLease;
    use crate::worker::limit::AT_ONCE;
    use crate::worker::run::idle_runner;
    use crate::worker::state::{Availability, Meters, Results, WakeUps, Watchdog};
    use futures::{FutureExt as _, poll};
    use std::{pin::pin, sync::atomic::AtomicBool};
    use tokio_util::sync::CancellationToken;

    struct Nothing;

    #[async_trait::async_trait]
    impl AttemptHandler for Nothing {
        async fn run(&self, _: &LeasedJob) -> Outcome {
            Outcome::Released { until: AT_ONCE }
        }
    }

    /// A claimer that reaches no database.
    fn idle_claims() -> Arc<Claims> {
        let runner = Arc::new(idle_runner(Handlers::new(Arc::new(Nothing))));
        let meters = Arc::new(Meters::new());
        Arc::new(Claims {
            pool: runner.pool.clone(),
            workers: 1,
            fetch_limit: 1,
            poll_interval: Duration::from_secs(1),
            program: None,
            lease: Arc::new(ProcessLease::new()),
            batches: Arc::clone(&runner.batches),
            results: Arc::new(Results::new(Arc::clone(&runner.running), Arc::clone(&meters))),
            availability: Arc::new(Availability::default()),
            wake_ups: Arc::new(WakeUps::default()),
            meters,
            watchdog: Arc::new(Watchdog::default()),
            runner,
            no_more_claims: CancellationToken::new(),
            has_dropped: AtomicBool::new(false),
        })
    }

    #[tokio::test]
    async fn a_process_suspended_beyond_its_lease_claims_nothing_before_a_heartbeat_is_answered() {
        let claims = idle_claims();
        claims.lease.set_registered();
        let lease = claims.lease.current();
        let mut claiming = pin!(claim_loop(Arc::clone(&claims)));
        assert!(poll!(&mut claiming).is_pending());
        assert!(lease.heartbeat_wanted.notified().now_or_never().is_some(), "it waits for the heartbeat");
        claims.lease.lose();
        assert!(poll!(&mut claiming).is_pending(), "and for the next registration");
        claims.no_more_claims.cancel();
        assert!(poll!(&mut claiming).is_ready());
    }
}
