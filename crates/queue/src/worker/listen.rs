//! Hears that there is work, and which jobs were called off. A notification that is missed costs a poll interval, or a heartbeat's, never
//! a job.

use crate::{
    wake::{CANCELS, CHANNEL},
    worker::shared::Shared,
};
use model::id::AssignmentId;
use sqlx::postgres::{PgListener, PgPoolOptions};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// Listens until the engine has ended: jobs that are running out their grace time are called off too.
pub(super) async fn listen(shared: Arc<Shared>, stop: CancellationToken) {
    // A notification may not come for hours: that it died is all there is to see of it.
    let pulse = shared.pulses.watch("wake-ups");
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
    pulse.ended();
}

async fn hear(shared: &Shared) -> Result<(), sqlx::Error> {
    // A connection of its own, so that listening takes none from the engine's pool.
    let options = (*shared.pool.connect_options()).clone();
    let own = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
    let mut listener = PgListener::connect_with(&own).await?;
    listener.listen_all([CHANNEL, CANCELS]).await?;
    shared.work.notify_one();
    shared.ask_again.notify_one();
    loop {
        // None: the connection broke and is made anew; what was said meanwhile is lost, so look at once. (`recv` would hide that.)
        match listener.try_recv().await? {
            Some(heard) if heard.channel() == CANCELS => {
                shared.attempts.call_off(assignments(heard.payload()));
            }
            // It rang our bell before it told the others.
            Some(heard) if shared.knows(heard.payload()) => {}
            Some(_) => shared.work.notify_one(),
            None => {
                tracing::debug!("the listening connection broke");
                shared.work.notify_one();
                shared.ask_again.notify_one();
            }
        }
    }
}

/// Whatever else somebody sends is passed over.
fn assignments(payload: &str) -> impl Iterator<Item = AssignmentId> {
    payload.split(',').filter_map(|id| id.parse().ok()).map(AssignmentId)
}
