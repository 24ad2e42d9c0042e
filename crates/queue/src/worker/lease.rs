//! The lease of this process, as far as the process itself can know.
//!
//! The database says who holds it; what is recorded is fenced there. What a handler sends to an external system is not: a process that slept
//! beyond its lease (SIGSTOP, a suspended machine) would wake up in the middle of its work and send, over what others have sent meanwhile,
//! before its heartbeat has asked. So each heartbeat leaves behind for how long its answer may be relied on. Beyond that no handler is called
//! and no right to send is given, until the next heartbeat has been answered: the lease is renewed, or lost.
//!
//! It is asked before, and not while something is on its way: who is stopped between the answer and the request sends it after all.

use model::id::WorkerId;
use std::{
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Not registered yet, or lost.
const NEVER: u64 = 0;

/// A moment on a clock that no one sets, and that goes on while this process is stopped.
///
/// On Linux it goes on while the machine is suspended too (`CLOCK_BOOTTIME`); elsewhere it is the monotonic clock, which may not. No clock of
/// a virtual machine shows that its host stopped it: then a lease that is over is noticed by the next heartbeat alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(Duration);

impl Moment {
    pub(super) fn now() -> Self {
        #[cfg(target_os = "linux")]
        if let Ok(since_boot) = nix::time::clock_gettime(nix::time::ClockId::CLOCK_BOOTTIME) {
            return Self(Duration::from(since_boot));
        }
        static FIRST_ASKED_AT: LazyLock<Instant> = LazyLock::new(Instant::now);
        Self(FIRST_ASKED_AT.elapsed())
    }

    fn as_nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// One registration in `workers`. When it ends (two failed heartbeats, or the row was gone) the jobs claimed under it are stopped and
/// forgotten: they belong to someone else, or soon will.
#[derive(Debug)]
pub(super) struct Lease {
    pub worker_id: WorkerId,
    pub lost: CancellationToken,
    /// Nanoseconds on the clock of [`Moment`].
    stands_until: AtomicU64,
    answered: Notify,
    /// Somebody cannot go on before the next heartbeat.
    pub asked_for: Notify,
}

impl Lease {
    /// It does not stand before it is [granted](Self::grant).
    pub(super) fn new() -> Self {
        Self {
            worker_id: WorkerId::generate(),
            lost: CancellationToken::new(),
            stands_until: AtomicU64::new(NEVER),
            answered: Notify::new(),
            asked_for: Notify::new(),
        }
    }

    /// One that nobody else can take, because nobody else knows of it.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn for_good() -> Self {
        Self { stands_until: AtomicU64::new(u64::MAX), ..Self::new() }
    }

    /// The database granted it for so long, counted from before it was asked: it cannot end earlier there than here.
    pub(super) fn grant(&self, asked_at: Moment, lasts: Duration) {
        if !self.is_lost() {
            self.stands_until.store(Moment(asked_at.0 + lasts).as_nanos(), Ordering::Release);
            self.answered.notify_waiters();
        }
    }

    /// Ends it: what was begun under it is stopped.
    pub(super) fn lose(&self) {
        self.lost.cancel();
        self.stands_until.store(NEVER, Ordering::Release);
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.is_cancelled()
    }

    /// Whether it may be relied on without asking the database: one atomic read and the clock.
    pub(super) fn stands(&self) -> bool {
        Moment::now().as_nanos() < self.stands_until.load(Ordering::Acquire)
    }

    /// Waits until it stands, for as many heartbeats as that takes; false: it is lost.
    pub(super) async fn stands_after_all(&self) -> bool {
        loop {
            // Before the look, so that no answer comes in between unheard.
            let answered = self.answered.notified();
            if self.is_lost() {
                return false;
            }
            if self.stands() {
                return true;
            }
            self.asked_for.notify_one();
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
    fn it_stands_from_its_grant_until_its_time_is_over_or_it_is_lost() {
        let lease = Lease::new();
        assert!(!lease.stands(), "nobody granted it yet");
        lease.grant(Moment::now(), LONG);
        assert!(lease.stands());
        lease.grant(long_ago(), Duration::from_nanos(1));
        assert!(!lease.stands(), "however late the answer came: it counts from the question");
        lease.grant(Moment::now(), LONG);
        lease.lose();
        assert!(!lease.stands());
        lease.grant(Moment::now(), LONG);
        assert!(!lease.stands(), "what is lost does not come back");
    }

    #[tokio::test]
    async fn who_cannot_rely_on_it_asks_for_a_heartbeat_and_waits_for_one_that_renews_it() {
        let lease = Lease::new();
        let mut waiting = pin!(lease.stands_after_all());
        assert_eq!(poll!(&mut waiting), Poll::Pending);
        assert!(lease.asked_for.notified().now_or_never().is_some());
        lease.grant(long_ago(), Duration::from_nanos(1));
        assert_eq!(poll!(&mut waiting), Poll::Pending, "that answer was to a question of long ago");
        assert!(lease.asked_for.notified().now_or_never().is_some(), "so another one is asked");
        lease.grant(Moment::now(), LONG);
        assert_eq!(poll!(&mut waiting), Poll::Ready(true));
    }

    #[tokio::test]
    async fn who_waits_for_one_that_is_lost_is_told() {
        let lease = Lease::new();
        let mut waiting = pin!(lease.stands_after_all());
        assert_eq!(poll!(&mut waiting), Poll::Pending);
        lease.lose();
        assert_eq!(poll!(&mut waiting), Poll::Ready(false));
    }
}
