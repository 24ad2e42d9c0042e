//! Listens for new work and cancel requests. A lost notification costs a poll interval, or a heartbeat's, never a job.

use crate::wake::{CANCEL_CHANNEL, CHANNEL};
use crate::worker::lease::ProcessLease;
use crate::worker::run::Attempts;
use crate::worker::state::{WakeUps, Watchdog};
use model::id::AssignmentId;
use sqlx::PgPool;
use sqlx::postgres::{PgListener, PgPoolOptions};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// Hears the notifications of the database.
pub(super) struct Listener {
    /// Its connect options are used, for a connection of its own.
    pub(super) pool: PgPool,
    pub(super) lease: Arc<ProcessLease>,
    pub(super) attempts: Arc<Attempts>,
    pub(super) wake_ups: Arc<WakeUps>,
    pub(super) watchdog: Arc<Watchdog>,
}

impl Listener {
    /// Listens until the engine has ended: jobs that use their grace time can still be cancelled.
    pub(super) async fn listen(self, stop: CancellationToken) {
        // Notifications may not come for hours, so all that can be watched of this loop is whether it died.
        let watched = self.watchdog.watch("wake-ups");
        while !stop.is_cancelled() {
            let heard = tokio::select! {
                () = stop.cancelled() => break,
                heard = self.hear() => heard,
            };
            if let Err(error) = heard {
                tracing::debug!(%error, "not listening for wake-ups");
            }
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
            }
        }
        watched.ended();
    }

    async fn hear(&self) -> Result<(), sqlx::Error> {
        // A connection of its own, so that listening takes none from the engine's pool.
        let options = (*self.pool.connect_options()).clone();
        let own = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
        let mut listener = PgListener::connect_with(&own).await?;
        listener.listen_all([CHANNEL, CANCEL_CHANNEL]).await?;
        self.wake_ups.wake();
        self.lease.recheck_cancels();
        loop {
            // None: the connection broke and is opened again; notifications in between are lost, so check at once. (`recv` would hide that.)
            match listener.try_recv().await? {
                Some(heard) if heard.channel() == CANCEL_CHANNEL => {
                    self.attempts.request_cancel(assignments(heard.payload()));
                }
                // Its waker is in this process, and has woken the engine already.
                Some(heard) if self.wake_ups.is_own_waker(heard.payload()) => {}
                Some(_) => self.wake_ups.wake(),
                None => {
                    tracing::debug!("the listening connection broke");
                    self.wake_ups.wake();
                    self.lease.recheck_cancels();
                }
            }
        }
    }
}

/// Anything that is not an id is ignored.
fn assignments(payload: &str) -> impl Iterator<Item = AssignmentId> {
    payload.split(',').filter_map(|id| id.parse().ok()).map(AssignmentId)
}
