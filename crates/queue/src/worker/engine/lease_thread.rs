//! The thread that keeps a process's lease.
//!
//! Heartbeats must not depend on what the jobs do: a handler that blocks all threads of the runtime would cost every job of the process its lease. So
//! they run on an operating system thread with a small runtime of its own. So do the watchdog, which ends the lease when the loops that would record
//! results have stopped, and the check for overdue attempts whose handlers do not yield.

use crate::worker::{heartbeat::Heartbeats, lease::ProcessLease, run::OverdueCheck, state::Watchdog};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

/// What a process does when a loop of its engine has stopped: it records nothing more, and has released its lease. It gets the name of the loop:
/// `runtime`, `claims`, `finisher`, `writer`, `locked results`, `wake-ups` or `heartbeats`.
pub(super) type OnStuck = Arc<dyn Fn(&'static str) + Send + Sync>;

/// The running thread. It ends when this is dropped.
pub(super) struct LeaseThread {
    ended: oneshot::Receiver<()>,
    stop: DropGuard,
}

impl LeaseThread {
    pub(super) fn start(watch: LeaseWatch, on_stuck: OnStuck) -> Self {
        let stop = CancellationToken::new();
        let (send_end, ended) = oneshot::channel();
        let until = stop.clone();
        let spawned = std::thread::Builder::new().name("headgate-lease".to_owned()).spawn(move || {
            watch.run(&until, &on_stuck);
            // Not before all that ran there.
            drop(watch);
            drop(send_end);
        });
        if let Err(error) = spawned {
            tracing::error!(%error, "no thread for heartbeats: this process claims nothing");
        }
        Self { ended, stop: stop.drop_guard() }
    }

    /// Ends the lease in order.
    pub(super) async fn end(self) {
        drop(self.stop);
        // The sender is only dropped, when the thread ends.
        let _ = self.ended.await;
    }
}

/// What runs on the thread.
pub(super) struct LeaseWatch {
    pub(super) heartbeats: Heartbeats,
    pub(super) overdue_check: OverdueCheck,
    pub(super) lease: Arc<ProcessLease>,
    pub(super) watchdog: Arc<Watchdog>,
    pub(super) watchdog_timeout: Duration,
}

impl LeaseWatch {
    fn run(&self, stop: &CancellationToken, on_stuck: &OnStuck) {
        let runtime = loop {
            match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => break runtime,
                Err(error) => tracing::error!(%error, "no runtime for heartbeats: retrying"),
            }
            if stop.is_cancelled() {
                return;
            }
            std::thread::sleep(Duration::from_secs(1));
        };
        // A panic here would leave a process that claims jobs without heartbeats: it counts as stopped too.
        let stuck =
            std::panic::catch_unwind(AssertUnwindSafe(|| runtime.block_on(self.run_until_stuck(stop))))
                .unwrap_or(Some("heartbeats"));
        if let Some(part) = stuck.filter(|_| !stop.is_cancelled()) {
            // The lease first: this process stops what it still can, and others get the jobs.
            self.lease.lose();
            self.watchdog.note_stuck(part);
            tracing::error!(part, "the engine has stopped: {part} no longer responds; the lease is released");
            on_stuck(part);
        }
    }

    /// Runs until `stop` (none) or until a loop has stopped.
    async fn run_until_stuck(&self, stop: &CancellationToken) -> Option<&'static str> {
        let watch = async {
            let part = self.watchdog.until_one_stops(self.watchdog_timeout).await;
            if stop.is_cancelled() {
                // A loop that never ends must not keep the worker from signing off.
                std::future::pending::<()>().await;
            }
            part
        };
        tokio::select! {
            () = self.heartbeats.beat_until(stop) => None,
            part = watch => Some(part),
            () = self.overdue_check.repeat() => None,
        }
    }
}

/// Shows the watchdog that the runtime of the jobs still runs tasks.
pub(super) async fn show_that_tasks_run(watchdog: Arc<Watchdog>, stop: CancellationToken) {
    const STEP: Duration = Duration::from_secs(1);
    let watched = watchdog.watch("runtime");
    loop {
        watched.alive_within(STEP);
        tokio::select! {
            () = stop.cancelled() => return watched.ended(),
            () = tokio::time::sleep(STEP) => {}
        }
    }
}
