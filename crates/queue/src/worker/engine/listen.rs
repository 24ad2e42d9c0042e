//! Listens for new work and cancel requests. A lost notification costs a poll interval, or a heartbeat's, never a job.

use crate::{
    wake::{CANCEL_CHANNEL, CHANNEL},
    worker::state::shared::Shared,
};
use model::id::AssignmentId;
use sqlx::postgres::{PgListener, PgPoolOptions};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// Listens until the engine has ended: jobs that use their grace time can still be cancelled.
pub(crate) async fn listen(shared: Arc<Shared>, stop: CancellationToken) {
    // Notifications may not come for hours, so all that can be watched of this loop is whether it died.
    let watched = shared.watchdog.watch("wake-ups");
    while !stop.is_cancelled() {
        let heard = tokio::select! {
            () = stop.cancelled() => break,
            heard = hear(&shared) => heard,
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

async fn hear(shared: &Shared) -> Result<(), sqlx::Error> {
    // A connection of its own, so that listening takes none from the engine's pool.
    let options = (*shared.pool.connect_options()).clone();
    let own = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
    let mut listener = PgListener::connect_with(&own).await?;
    listener.listen_all([CHANNEL, CANCEL_CHANNEL]).await?;
    shared.work.notify_one();
    shared.recheck_cancels.notify_one();
    loop {
        // None: the connection broke and is opened again; notifications in between are lost, so check at once. (`recv` would hide that.)
        match listener.try_recv().await? {
            Some(heard) if heard.channel() == CANCEL_CHANNEL => {
                shared.attempts.request_cancel(assignments(heard.payload()));
            }
            // Its waker is in this process, and has woken the engine already.
            Some(heard) if shared.is_own_waker(heard.payload()) => {}
            Some(_) => shared.work.notify_one(),
            None => {
                tracing::debug!("the listening connection broke");
                shared.work.notify_one();
                shared.recheck_cancels.notify_one();
            }
        }
    }
}

/// Anything that is not an id is ignored.
fn assignments(payload: &str) -> impl Iterator<Item = AssignmentId> {
    payload.split(',').filter_map(|id| id.parse().ok()).map(AssignmentId)
}
