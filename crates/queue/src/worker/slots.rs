//! Where a held job gets its send times from, and how long it waited for them.

use super::{lease::Lease, limiter::Limiter};
use chrono::{DateTime, Utc};
use model::id::IntegrationId;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// Now, for a job that goes back: the statement that releases it never lets a time be in the past.
pub const AT_ONCE: DateTime<Utc> = DateTime::UNIX_EPOCH;

/// Whether a request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Now.
    Go,
    /// Not soon: answer [`crate::worker::Outcome::Released`] with this time.
    Later(DateTime<Utc>),
}

/// Where a held job gets its send times from.
#[derive(Clone, Default)]
pub struct Slots {
    /// And the lease under which they are given.
    limiter: Option<(Arc<Limiter>, Arc<Lease>)>,
    is_limited: bool,
    waited_us: Arc<AtomicU64>,
}

impl std::fmt::Debug for Slots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slots").field("is_limited", &self.is_limited).finish_non_exhaustive()
    }
}

impl Slots {
    /// No limit: every moment is a slot.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::default()
    }

    pub(super) fn of(limiter: Arc<Limiter>, is_limited: bool, lease: Arc<Lease>) -> Self {
        Self { limiter: Some((limiter, lease)), is_limited, waited_us: Arc::default() }
    }

    pub(super) fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// How long the job has waited for slots: not part of its time-out.
    pub(super) fn waited(&self) -> Duration {
        Duration::from_micros(self.waited_us.load(Ordering::Relaxed))
    }

    /// Whether what is sent under it from now on is somebody else's to send.
    pub(super) fn is_lease_lost(&self) -> bool {
        self.limiter.as_ref().is_some_and(|(_, lease)| lease.is_lost())
    }

    pub(super) async fn next(&self, integration_id: IntegrationId) -> Slot {
        let Some((limiter, lease)) = &self.limiter else { return Slot::Go };
        let asked_at = Instant::now();
        let slot = loop {
            let slot = limiter.next(integration_id, self.is_limited).await;
            if slot != Slot::Go || lease.stands() {
                break slot;
            }
            // That slot is lost: it would be used too late. On the heap: every attempt would carry the room for it.
            let stands = Box::pin(async {
                tokio::select! {
                    stands = lease.stands_after_all() => stands,
                    () = limiter.closed() => false,
                }
            });
            if !stands.await {
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
    use crate::worker::{HeldJob, Peers, lease::Moment, sample_job::plain};
    use futures::poll;
    use sqlx::PgPool;
    use std::{pin::pin, task::Poll};

    /// A job in a process whose lease has run out, as far as it knows.
    fn held(lease: &Arc<Lease>) -> (HeldJob, Arc<Limiter>) {
        // Without a limit nothing is asked of it.
        let limiter = Arc::new(Limiter::new(PgPool::connect_lazy("postgres://nobody.invalid").unwrap()));
        let slots = Slots::of(Arc::clone(&limiter), false, Arc::clone(lease));
        (HeldJob::new(plain(), Duration::from_secs(1), slots, Arc::new(Peers::new(1))), limiter)
    }

    #[tokio::test]
    async fn who_slept_beyond_the_lease_sends_nothing_before_a_heartbeat_has_renewed_it() {
        let lease = Arc::new(Lease::new());
        let (job, _limiter) = held(&lease);
        let right = job.send_right();
        let (mut alone, mut together) = (pin!(job.slot()), pin!(right.slot()));
        assert_eq!((poll!(&mut alone), poll!(&mut together)), (Poll::Pending, Poll::Pending));
        lease.grant(Moment::now(), Duration::from_secs(3_600));
        assert_eq!((poll!(&mut alone), poll!(&mut together)), (Poll::Ready(Slot::Go), Poll::Ready(Slot::Go)));
        assert_eq!(job.slot().await, Slot::Go, "and the next one waits for nothing");
    }

    #[tokio::test]
    async fn a_task_that_sends_for_several_hears_that_their_lease_is_lost() {
        let lease = Arc::new(Lease::new());
        let (job, _limiter) = held(&lease);
        let right = job.send_right();
        let mut waiting = pin!(right.slot());
        assert_eq!(poll!(&mut waiting), Poll::Pending);
        lease.lose();
        assert_eq!(poll!(&mut waiting), Poll::Ready(Slot::Later(AT_ONCE)));
        assert!(!right.doubt(Box::new(())), "nor is it sent together with what another lease holds");
    }

    #[tokio::test]
    async fn who_waits_for_the_lease_goes_back_when_the_engine_stops() {
        let lease = Arc::new(Lease::new());
        let (job, limiter) = held(&lease);
        let mut waiting = pin!(job.slot());
        assert_eq!(poll!(&mut waiting), Poll::Pending);
        limiter.close();
        assert_eq!(poll!(&mut waiting), Poll::Ready(Slot::Later(AT_ONCE)));
    }
}
