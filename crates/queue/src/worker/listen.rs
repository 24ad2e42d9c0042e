//! Hears that there is work. A notification that is missed costs a poll interval, never a job.

use crate::{wake::CHANNEL, worker::shared::Shared};
use sqlx::postgres::{PgListener, PgPoolOptions};
use std::{sync::Arc, time::Duration};

/// Listens until the engine claims no more.
pub(super) async fn listen(shared: Arc<Shared>) {
    let stop = shared.no_more_claims.clone();
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
    listener.listen(CHANNEL).await?;
    shared.work.notify_one();
    loop {
        // None: the connection broke and is made anew; what was said meanwhile is lost, so look at once. (`recv` would hide that.)
        let heard = listener.try_recv().await?;
        shared.work.notify_one();
        if heard.is_none() {
            tracing::debug!("the listening connection broke");
        }
    }
}
