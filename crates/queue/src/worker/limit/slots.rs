//! The source of a job's send times, and how long it has waited for them.

use crate::worker::{lease::Lease, limit::Limiter};
use chrono::{DateTime, Utc};
use model::id::IntegrationId;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// For a job that is released until now: the releasing statement raises times in the past to now.
pub const AT_ONCE: DateTime<Utc> = DateTime::UNIX_EPOCH;

/// Whether a request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// It may be sent now.
    Go,
    /// Not soon: return [`crate::worker::Outcome::Released`] with this time.
    Later(DateTime<Utc>),
}

/// The source of a job's send times; the default has no limits, so that every moment is a slot.
#[derive(Clone, Default)]
pub(crate) struct Slots {
    /// With the lease that must be valid when sending.
    limiter: Option<(Arc<Limiter>, Arc<Lease>)>,
    is_limited: bool,
    waited_us: Arc<AtomicU64>,
}

impl Slots {
    pub(crate) fn of(limiter: Arc<Limiter>, is_limited: bool, lease: Arc<Lease>) -> Self {
        Self { limiter: Some((limiter, lease)), is_limited, waited_us: Arc::default() }
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// How long the job has waited for slots, which does not count against its time-out.
    pub(crate) fn waited(&self) -> Duration {
        Duration::from_micros(self.waited_us.load(Ordering::Relaxed))
    }

    pub(crate) fn is_lease_lost(&self) -> bool {
        self.limiter.as_ref().is_some_and(|(_, lease)| lease.is_lost())
    }

    pub(crate) async fn next(&self, integration_id: IntegrationId) -> Slot {
        let Some((limiter, lease)) = &self.limiter else { return Slot::Go };
        let asked_at = Instant::now();
        let slot = loop {
            let slot = limiter.next(integration_id, self.is_limited).await;
            if slot != Slot::Go || lease.is_valid() {
                break slot;
            }
            // The slot is lost, because it would be used too late. On the heap: otherwise the future of every attempt would be as large.
            let is_valid = Box::pin(async {
                tokio::select! {
                    is_valid = lease.until_valid() => is_valid,
                    () = limiter.closed() => false,
                }
            });
            if !is_valid.await {
                break Slot::Later(AT_ONCE);
            }
        };
        let waited = u64::try_from(asked_at.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.waited_us.fetch_add(waited, Ordering::Relaxed);
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::{LeasedJob, lease::Moment, sample_job::plain};
    use futures::poll;
    use sqlx::PgPool;
    use std::{pin::pin, task::Poll};

    /// A job in a process that cannot rely on its lease.
    fn leased(lease: &Arc<Lease>) -> (LeasedJob, Arc<Limiter>) {
        // Without a rate limit it does not query.
        let limiter = Arc::new(Limiter::new(PgPool::connect_lazy("postgres://nobody.invalid").unwrap()));
        let slots = Slots::of(Arc::clone(&limiter), false, Arc::clone(lease));
        (LeasedJob::new(plain(), Duration::from_secs(1), slots, Arc::default()), limiter)
    }

    #[tokio::test]
    async fn a_process_suspended_beyond_its_lease_sends_nothing_before_a_heartbeat_renews_it() {
        let lease = Arc::new(Lease::new());
        let (job, _limiter) = leased(&lease);
        let permit = job.send_permit();
        let (mut alone, mut together) = (pin!(job.slot()), pin!(permit.slot()));
        assert_eq!((poll!(&mut alone), poll!(&mut together)), (Poll::Pending, Poll::Pending));
        lease.grant(Moment::now(), Duration::from_secs(3_600));
        assert_eq!((poll!(&mut alone), poll!(&mut together)), (Poll::Ready(Slot::Go), Poll::Ready(Slot::Go)));
        assert_eq!(job.slot().await, Slot::Go, "and the next one waits for nothing");
    }

    #[tokio::test]
    async fn a_task_that_sends_for_several_jobs_learns_that_their_lease_is_lost() {
        let lease = Arc::new(Lease::new());
        let (job, _limiter) = leased(&lease);
        let permit = job.send_permit();
        let mut waiting = pin!(permit.slot());
        assert_eq!(poll!(&mut waiting), Poll::Pending);
        lease.lose();
        assert_eq!(poll!(&mut waiting), Poll::Ready(Slot::Later(AT_ONCE)));
        assert!(
            !permit.mark_uncertain(Box::new(())),
            "nor may it be sent together with jobs of another lease"
        );
    }

    #[tokio::test]
    async fn a_job_that_waits_for_the_lease_is_released_when_the_engine_stops() {
        let lease = Arc::new(Lease::new());
        let (job, limiter) = leased(&lease);
        let mut waiting = pin!(job.slot());
        assert_eq!(poll!(&mut waiting), Poll::Pending);
        limiter.close();
        assert_eq!(poll!(&mut waiting), Poll::Ready(Slot::Later(AT_ONCE)));
    }
}
