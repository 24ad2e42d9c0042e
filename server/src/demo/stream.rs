//! The activity of the demo: changes in bursts, a re-sync now and then, and somebody who reopens the gone system.

use super::behaviour::System;
use super::catalog::{Range, change, record_id};
use super::external_systems::ExternalSystems;
use super::seed::RECORD_TYPE;
use delivery::{Delivery, DeliveryError};
use model::actor::Scope;
use model::event::{Event, EventType};
use model::id::{AppId, IntegrationId};
use model::resync::{NewResync, ResyncMode};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Between two checks of the gone system; long enough for it to be seen in the console.
const REOPEN_AFTER: Duration = Duration::from_secs(75);
const RESYNC_EVERY: Duration = Duration::from_secs(240);
/// The share of large bursts, as when a price list is imported.
const LARGE_BURST: f64 = 0.04;

/// Changes records of one app: usually a few every second or two, sometimes dozens.
pub(super) async fn changes(delivery: Delivery, app_id: AppId, range: Range, stop: CancellationToken) {
    let mut rng = StdRng::from_os_rng();
    loop {
        let pause = Duration::from_millis(rng.random_range(700..3_500));
        if ends_within(&stop, pause).await {
            return;
        }
        let size =
            if rng.random_bool(LARGE_BURST) { rng.random_range(30..70) } else { rng.random_range(1..6) };
        let correlation_id = format!("change-{}", uuid::Uuid::now_v7());
        let events: Vec<Event> =
            (0..size).map(|_| event(app_id, &range, &correlation_id, &mut rng)).collect();
        if let Err(error) = delivery.accept_events(Scope::App(app_id), events).await {
            log_failure("accepting a change failed", &error);
        }
    }
}

fn event(app_id: AppId, range: &Range, correlation_id: &str, rng: &mut StdRng) -> Event {
    // A shop changes a few products most often: these change again before they are sent, so their jobs coalesce.
    let n = if rng.random_bool(0.3) { rng.random_range(0..12) } else { rng.random_range(0..range.size) };
    let (attributes, is_urgent) = change(range, n, rng);
    Event {
        app_id,
        event_type: if is_urgent { EventType::AttributeUpdate } else { EventType::Updated },
        record_type: RECORD_TYPE.to_owned(),
        record_id: record_id(range, n),
        attributes,
        occurred_at: None,
        correlation_id: Some(correlation_id.to_owned()),
        trace: None,
        id: None,
    }
}

/// Reopens the gone system after a while and resumes its integration, so that the whole cycle repeats.
pub(super) async fn reopen_gone(
    delivery: Delivery,
    systems: ExternalSystems,
    integrations: Vec<(IntegrationId, System)>,
    stop: CancellationToken,
) {
    let Some((id, _)) = integrations.into_iter().find(|(_, system)| *system == System::Gone) else { return };
    // An earlier run may have ended while it was gone.
    if let Err(error) = resume(&delivery, id).await {
        log_failure("resuming the integration of the gone system failed", &error);
    }
    loop {
        if ends_within(&stop, REOPEN_AFTER).await {
            return;
        }
        if systems.is_gone() {
            systems.reopen();
            if let Err(error) = resume(&delivery, id).await {
                log_failure("resuming the integration of the gone system failed", &error);
            }
        }
    }
}

async fn resume(delivery: &Delivery, id: IntegrationId) -> Result<(), DeliveryError> {
    let mut tx = delivery.pool.begin().await?;
    delivery.resume_integration(&mut tx, Scope::AllApps, id).await?;
    tx.commit().await?;
    delivery.wake();
    Ok(())
}

/// Starts a re-sync of one of the quick integrations now and then.
pub(super) async fn resyncs(
    delivery: Delivery,
    integrations: Vec<(IntegrationId, System)>,
    stop: CancellationToken,
) {
    let quick: Vec<IntegrationId> = integrations
        .into_iter()
        .filter(|(_, system)| matches!(system, System::Fast | System::Flaky | System::Down))
        .map(|(id, _)| id)
        .collect();
    let mut rng = StdRng::from_os_rng();
    loop {
        if ends_within(&stop, RESYNC_EVERY).await {
            return;
        }
        let Some(id) = quick.choose(&mut rng) else { return };
        let new = NewResync { record_type: None, record_ids: None, mode: ResyncMode::Full };
        match start_resync(&delivery, *id, new).await {
            // One still runs, or ended just now.
            Ok(()) | Err(DeliveryError::Conflict { .. } | DeliveryError::TooSoon { .. }) => {}
            Err(error) => log_failure("starting a re-sync failed", &error),
        }
    }
}

async fn start_resync(delivery: &Delivery, id: IntegrationId, new: NewResync) -> Result<(), DeliveryError> {
    let mut tx = delivery.pool.begin().await?;
    delivery.start_resync(&mut tx, Scope::AllApps, id, new, "demo").await?;
    tx.commit().await?;
    delivery.wake();
    Ok(())
}

async fn ends_within(stop: &CancellationToken, pause: Duration) -> bool {
    tokio::time::timeout(pause, stop.cancelled()).await.is_ok()
}

/// The engine already reports a database that is away, so the demo only logs it and continues.
fn log_failure(what: &str, error: &DeliveryError) {
    tracing::debug!(%error, "demo: {what}");
}
