//! The lease of this process, as far as the process itself can know.
//!
//! The database decides who has the lease, and fences what is recorded. It cannot fence what a handler sends to an external system: a process that was
//! suspended beyond its lease (SIGSTOP, a suspended machine) would wake up in the middle of its work and overwrite what others have sent meanwhile,
//! before its heartbeat finds out. So each heartbeat notes for how long its answer may be relied on. After that no handler is called and nothing may be
//! sent until the next heartbeat is answered: the lease is renewed, or lost.
//!
//! This is checked before a request, not during one: a process that is suspended between the check and the request still sends it.

use model::id::WorkerId;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// For a lease that is not registered yet, or lost.
const NEVER: u64 = 0;

/// A moment on a clock that is never set, and that goes on while this process is stopped.
///
/// On Linux it also goes on while the machine is suspended (`CLOCK_BOOTTIME`); elsewhere it is the monotonic clock, which may not. No clock of a
/// virtual machine shows that its host stopped it: then only the next heartbeat notices that the lease has run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(Duration);

impl Moment {
    pub(crate) fn now() -> Self {
        #[cfg(target_os = "linux")]
        if let Ok(since_boot) = nix::time::clock_gettime(nix::time::ClockId::CLOCK_BOOTTIME) {
            return Self(Duration::from(since_boot));
        }
        static FIRST_ASKED_AT: LazyLock<Instant> = LazyLock::new(Instant::now);
        Self(FIRST_ASKED_AT.elapsed())
    }

    pub(crate) fn elapsed(self) -> Duration {
        Self::now().0.saturating_sub(self.0)
    }

    fn as_nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// One registration in `workers`. When it ends (two failed heartbeats, or the row is gone) the jobs claimed under it are stopped and forgotten: they
/// are another worker's, or soon will be.
#[derive(Debug)]
pub(crate) struct Lease {
    pub worker_id: WorkerId,
    pub lost: CancellationToken,
    /// Nanoseconds on the clock of [`Moment`].
    valid_until: AtomicU64,
    answered: Notify,
    /// Asks for a heartbeat now, because something waits for it.
    pub heartbeat_wanted: Notify,
}

impl Lease {
    /// It is not valid before it is [granted](Self::grant).
    pub(crate) fn new() -> Self {
        Self {
            worker_id: WorkerId::generate(),
            lost: CancellationToken::new(),
            valid_until: AtomicU64::new(NEVER),
            answered: Notify::new(),
            heartbeat_wanted: Notify::new(),
        }
    }

    /// A lease without end, which no other process can take.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn endless() -> Self {
        Self { valid_until: AtomicU64::new(u64::MAX), ..Self::new() }
    }

    /// The database granted it for this long. Counted from before the query, so that it cannot end earlier there than here.
    pub(crate) fn grant(&self, asked_at: Moment, lasts: Duration) {
        if !self.is_lost() {
            self.valid_until.store(Moment(asked_at.0 + lasts).as_nanos(), Ordering::Release);
            self.answered.notify_waiters();
        }
    }

    /// Ends it, which stops the attempts under it.
    pub(crate) fn lose(&self) {
        self.lost.cancel();
        self.valid_until.store(NEVER, Ordering::Release);
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.is_cancelled()
    }

    /// Whether it may be relied on without a query: one atomic read and the clock.
    pub(crate) fn is_valid(&self) -> bool {
        Moment::now().as_nanos() < self.valid_until.load(Ordering::Acquire)
    }

    /// Waits until it is valid, for as many heartbeats as that takes; false: it is lost.
    pub(crate) async fn until_valid(&self) -> bool {
        loop {
            // Subscribed before the check, so that no answer in between is missed.
            let answered = self.answered.notified();
            if self.is_lost() {
                return false;
            }
            if self.is_valid() {
                return true;
            }
            self.heartbeat_wanted.notify_one();
            tokio::select! {
                () = self.lost.cancelled() => return false,
                () = answered => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{FutureExt as _, poll};
    use std::{pin::pin, task::Poll};

    const LONG: Duration = Duration::from_secs(3_600);

    fn long_ago() -> Moment {
        Moment(Duration::ZERO)
    }

    #[test]
    fn it_is_valid_from_its_grant_until_it_runs_out_or_is_lost() {
        let lease = Lease::new();
        assert!(!lease.is_valid(), "not granted yet");
        lease.grant(Moment::now(), LONG);
        assert!(lease.is_valid());
        lease.grant(long_ago(), Duration::from_nanos(1));
        assert!(!lease.is_valid(), "it counts from the query, however late the answer came");
        lease.grant(Moment::now(), LONG);
        lease.lose();
        assert!(!lease.is_valid());
        lease.grant(Moment::now(), LONG);
        assert!(!lease.is_valid(), "a lost lease cannot be granted again");
    }

    #[tokio::test]
    async fn waiting_for_it_asks_for_heartbeats_until_one_renews_it() {
        let lease = Lease::new();
        let mut waiting = pin!(lease.until_valid());
        assert_eq!(poll!(&mut waiting), Poll::Pending);
        assert!(lease.heartbeat_wanted.notified().now_or_never().is_some());
        lease.grant(long_ago(), Duration::from_nanos(1));
        assert_eq!(poll!(&mut waiting), Poll::Pending, "that answer was to a query of long ago");
        assert!(
            lease.heartbeat_wanted.notified().now_or_never().is_some(),
            "so another heartbeat is asked for"
        );
        lease.grant(Moment::now(), LONG);
        assert_eq!(poll!(&mut waiting), Poll::Ready(true));
    }

    #[tokio::test]
    async fn waiting_for_a_lost_lease_ends() {
        let lease = Lease::new();
        let mut waiting = pin!(lease.until_valid());
        assert_eq!(poll!(&mut waiting), Poll::Pending);
        lease.lose();
        assert_eq!(poll!(&mut waiting), Poll::Ready(false));
    }
}
