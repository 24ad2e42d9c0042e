//! The thread that keeps a process's lease, and the process honest.
//!
//! Heartbeats must not depend on what the jobs do: a handler that blocks all threads of the runtime would cost every job of the process its
//! lease. So they run on an operating system thread and a small runtime of their own. Beside them stand the watchdog, which ends the lease when the
//! loops that would record results have stopped, and whoever ends attempts whose handlers do not yield.

use crate::worker::{finisher::Finisher, heartbeat::heartbeat, overdue::oversee, shared::Shared};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A loop of the engine has stopped: this process records nothing more, and has given up its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Which loop: `runtime`, `claims`, `finisher`, `writer`, `wake-ups`, `heartbeats`.
    pub part: &'static str,
}

/// What a process does then.
pub type OnStuck = Arc<dyn Fn(Stuck) + Send + Sync>;

/// The running thread. It ends when this is dropped.
pub(super) struct Lifeline {
    ended: oneshot::Receiver<()>,
    stop: DropGuard,
}

impl Lifeline {
    pub(super) fn start(shared: Arc<Shared>, finisher: Finisher, on_stuck: OnStuck) -> Self {
        let stop = CancellationToken::new();
        let (tell, ended) = oneshot::channel();
        let life = Life { shared, finisher, on_stuck, stop: stop.clone(), _tell: tell };
        let spawned =
            std::thread::Builder::new().name("headgate-lifeline".to_owned()).spawn(move || life.run());
        if let Err(error) = spawned {
            tracing::error!(%error, "no thread for heartbeats: this process claims nothing");
        }
        Self { ended, stop: stop.drop_guard() }
    }

    /// Ends the lease in order.
    pub(super) async fn end(self) {
        drop(self.stop);
        // Either way the thread has ended.
        let _ = self.ended.await;
    }
}

struct Life {
    shared: Arc<Shared>,
    finisher: Finisher,
    on_stuck: OnStuck,
    stop: CancellationToken,
    /// Dropped with the rest when the thread ends.
    _tell: oneshot::Sender<()>,
}

impl Life {
    fn run(self) {
        let runtime = loop {
            match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => break runtime,
                Err(error) => tracing::error!(%error, "no runtime for heartbeats: tried again"),
            }
            if self.stop.is_cancelled() {
                return;
            }
            std::thread::sleep(Duration::from_secs(1));
        };
        // A panic here would leave a process that claims and is never heard from: it has stopped too.
        let stuck = std::panic::catch_unwind(AssertUnwindSafe(|| runtime.block_on(self.live())))
            .unwrap_or(Some("heartbeats"));
        if let Some(part) = stuck.filter(|_| !self.stop.is_cancelled()) {
            // First the lease: what this process can still stop is stopped, and others get the jobs.
            self.shared.lose_lease();
            self.shared.set_stuck(part);
            tracing::error!(
                part,
                "the engine has stopped: {part} does not move any more; the lease is given up"
            );
            (self.on_stuck)(Stuck { part });
        }
    }

    /// Lives until told to stop (none) or until a loop has stopped.
    async fn live(&self) -> Option<&'static str> {
        let watch = async {
            let part = self.shared.pulses.until_one_stops(self.shared.config.watchdog_patience).await;
            if self.stop.is_cancelled() {
                // Loops that never ended do not cut the farewell short.
                std::future::pending::<()>().await;
            }
            part
        };
        tokio::select! {
            () = heartbeat(&self.shared, &self.stop) => None,
            part = watch => Some(part),
            () = oversee(&self.shared, &self.finisher) => None,
        }
    }
}

/// Shows that the runtime of the jobs runs tasks.
pub(super) async fn show_that_tasks_run(shared: Arc<Shared>, stop: CancellationToken) {
    const STEP: Duration = Duration::from_secs(1);
    let pulse = shared.pulses.watch("runtime");
    loop {
        pulse.within(STEP);
        tokio::select! {
            () = stop.cancelled() => return pulse.ended(),
            () = tokio::time::sleep(STEP) => {}
        }
    }
}
