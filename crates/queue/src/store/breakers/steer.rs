//! What people do about a breaker.

use super::{Change, row};
use crate::error::QueueError;
use model::{breaker::BreakerOrder, id::IntegrationId};
use sqlx::PgConnection;

/// Does what an operator asks for; answers whether the state changed. Wake the workers after the commit.
///
/// # Errors
/// [`QueueError::Invalid`] with the fault of `until`, judged by the database's clock; [`QueueError::NotFound`] when there is no such lane.
pub async fn steer(
    connection: &mut PgConnection,
    integration_id: IntegrationId,
    order: BreakerOrder,
    actor: &str,
) -> Result<bool, QueueError> {
    let held = row::hold(&mut *connection, &[integration_id]).await?.pop();
    let mut held = held.ok_or(QueueError::NotFound)?;
    order.check(held.now)?;
    let flip = held.circuit.steer(order.action, order.until, held.now);
    row::write(connection, &held, flip.as_slice(), Some(actor)).await?;
    Ok(tell(integration_id, flip))
}

/// The external system is another one, or somebody says that it works again: what failed counts no more, and an open circuit is probed at
/// once, unless an operator holds it. Call it before the lane is written: breakers are locked first.
///
/// # Errors
/// When the database is away.
pub async fn start_anew(
    connection: &mut PgConnection,
    integration_id: IntegrationId,
    why: &str,
) -> Result<(), QueueError> {
    let Some(mut held) = row::hold_known(&mut *connection, &[integration_id]).await?.pop() else {
        return Ok(());
    };
    let before = held.circuit.clone();
    let flip = held.circuit.starts_anew(why, held.now);
    if held.circuit != before {
        row::write(connection, &held, flip.as_slice(), None).await?;
        tell(integration_id, flip);
    }
    Ok(())
}

fn tell(integration_id: IntegrationId, flip: Option<model::rules::breaker::Flip>) -> bool {
    let change = flip.map(|flip| Change { integration_id, flip });
    change.iter().for_each(Change::tell);
    change.is_some()
}
