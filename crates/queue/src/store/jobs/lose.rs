//! Lost leases: jobs of workers that vanished go back, or become dead letters when it was the third time. Those that were called off
//! meanwhile end.

use crate::{error::QueueError, store::jobs::keys};
use model::id::{IntegrationId, JobId};
use sqlx::PgConnection;

/// Leases lost in a row that make a dead letter.
const MOST_LOST_LEASES: i32 = 3;

/// What a sweep found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Jobs that went back to the queue.
    pub given_back: u64,
    /// Jobs that became dead letters (`worker_lost`).
    pub dead: u64,
    /// Jobs that had been called off, and ended so.
    pub cancelled: u64,
}

/// A job that goes back, as the statement calls it.
const GOES_BACK: i16 = 0;
/// One that had been called off.
const CANCELLED: i16 = 4;

/// Sweeps up to `most` claim batches of workers whose lease has run out. Call it in a transaction, again while it finds something.
///
/// # Errors
/// When the database is away, or the statement lost a race: nothing is changed, sweep again.
pub async fn lose_of_dead_workers(connection: &mut PgConnection, most: i64) -> Result<Lost, QueueError> {
    struct Row {
        id: JobId,
        integration_id: IntegrationId,
        serialize_key: Option<String>,
        action: i16,
        successor_key: Option<String>,
    }
    let rows = sqlx::query_file_as!(Row, "src/store/jobs/lose.sql", most, MOST_LOST_LEASES)
        .fetch_all(&mut *connection)
        .await?;
    let ended: Vec<&Row> = rows.iter().filter(|row| row.action != GOES_BACK).collect();
    let mut lanes = Vec::new();
    let mut keys = Vec::new();
    for row in &ended {
        for key in [&row.serialize_key, &row.successor_key].into_iter().flatten() {
            lanes.push(row.integration_id);
            keys.push(key.clone());
        }
    }
    if !keys.is_empty() {
        // Here the key comes after the job: which keys there are is known only now. A deadlock with a finishing batch is possible
        // and costs one round of the sweep.
        keys::lock(connection, &lanes, &keys).await?;
        let ended: Vec<JobId> = ended.iter().map(|row| row.id).collect();
        keys::leave(connection, &lanes, &keys, &ended).await?;
    }
    let cancelled = ended.iter().filter(|row| row.action == CANCELLED).count();
    let (dead, given_back) = (ended.len() - cancelled, rows.len() - ended.len());
    Ok(Lost { given_back: given_back as u64, dead: dead as u64, cancelled: cancelled as u64 })
}
