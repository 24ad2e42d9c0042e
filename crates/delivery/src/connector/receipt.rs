//! What a completed job records of the external system's state, in the transaction that finishes it.

use model::attributes::Attributes;
use queue::worker::CompletedJob;
use sqlx::PgConnection;

use crate::store::sent::{self, Accepted, Advanced};

pub(super) enum Receipt {
    /// It accepted this state.
    Accepted { version: i64, attributes: Attributes },
    /// It had this state already, under an older version.
    HadAlready { version: i64 },
    /// It accepted the deletion.
    Deleted,
}

/// Writes the receipts of a batch of completed jobs.
pub(super) async fn write(conn: &mut PgConnection, done: &[CompletedJob]) -> Result<(), sqlx::Error> {
    let mut accepted = Vec::new();
    let mut advanced = Vec::new();
    for job in done {
        let receipt = job.receipt.as_ref().and_then(|receipt| receipt.downcast_ref::<Receipt>());
        let (Some(receipt), Some((record_type, record_id))) = (receipt, &job.record) else { continue };
        let state = match receipt {
            Receipt::Accepted { version, attributes } => Some((*version, attributes)),
            Receipt::Deleted => None,
            Receipt::HadAlready { version } => {
                let integration_id = job.integration_id;
                advanced.push(Advanced { integration_id, record_type, record_id, version: *version });
                continue;
            }
        };
        accepted.push(Accepted { integration_id: job.integration_id, record_type, record_id, state });
    }
    // All transactions lock integrations in this order.
    accepted.sort_by_key(|one| (one.integration_id, one.record_type, one.record_id));
    sent::record(conn, &accepted).await?;
    sent::advance(conn, &advanced).await
}
