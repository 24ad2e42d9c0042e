//! Actions of operators on a breaker.

use super::{Change, row};
use crate::error::{QueueError, Result};
use model::{breaker::BreakerOrder, id::IntegrationId};
use sqlx::PgConnection;

/// Does what an operator asks for; returns whether the state changed. Wake the workers after the commit.
///
/// # Errors
/// [`QueueError::Invalid`] with the fault of `until`, judged by the database's clock; [`QueueError::NotFound`] when there is no such lane.
pub async fn steer(
    connection: &mut PgConnection,
    integration_id: IntegrationId,
    order: BreakerOrder,
    actor: &str,
) -> Result<bool> {
    let locked = row::lock_or_create(&mut *connection, &[integration_id]).await?.pop();
    let mut locked = locked.ok_or(QueueError::NotFound)?;
    order.check(locked.now)?;
    let flip = locked.circuit.steer(order.action, order.until, locked.now);
    row::write(connection, &locked, flip.as_slice(), Some(actor)).await?;
    Ok(log(integration_id, flip))
}

/// The external system has changed, or somebody says that it works again: past failures no longer count, and an open circuit is probed at
/// once, unless an operator holds it. Call it before the lane is written: breakers are locked first.
pub async fn reset(connection: &mut PgConnection, integration_id: IntegrationId, why: &str) -> Result<()> {
    let Some(mut locked) = row::lock_existing(&mut *connection, &[integration_id]).await?.pop() else {
        return Ok(());
    };
    let before = locked.circuit.clone();
    let flip = locked.circuit.restart(why, locked.now);
    if locked.circuit != before {
        row::write(connection, &locked, flip.as_slice(), None).await?;
        log(integration_id, flip);
    }
    Ok(())
}

fn log(integration_id: IntegrationId, flip: Option<model::rules::breaker::Flip>) -> bool {
    let change = flip.map(|flip| Change { integration_id, flip });
    change.iter().for_each(Change::log);
    change.is_some()
}
