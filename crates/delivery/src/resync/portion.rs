//! One portion of the catalog: reads it, makes its jobs and moves the cursor, all in the caller's transaction.

use model::{event::EventType, id::ResyncId};
use queue::store::jobs::{JobSpec, enqueue};
use sqlx::PgConnection;
use uuid::Uuid;

use super::PORTION;
use crate::catalog::key::deduplication_id;
use crate::store::resyncs as rows;
use crate::store::resyncs::{Candidate, Enumeration};
use crate::{Delivery, DeliveryError};

/// After live changes of the same kind.
const PRIORITY: i16 = -10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The next portion can follow at once.
    More,
    /// Read to the end, or not running.
    Nothing,
}

/// Reads the next portion of a running re-sync.
pub(super) async fn enumerate(
    delivery: &Delivery,
    conn: &mut PgConnection,
    id: ResyncId,
) -> Result<Progress, DeliveryError> {
    let Some(resync) = rows::lock_running(conn, id).await? else { return Ok(Progress::Nothing) };
    let mut cursor = resync.cursor.clone();
    let mut room = PORTION;
    let mut wanted: Vec<Candidate> = Vec::new();
    let mut is_enumerated = false;
    while room > 0 && !is_enumerated {
        let Some(record_type) = resync.type_at(cursor.as_ref()) else {
            is_enumerated = true;
            break;
        };
        let candidates = rows::scan(conn, &resync, record_type.as_deref(), cursor.as_ref(), room).await?;
        let found = i64::try_from(candidates.len()).unwrap_or(PORTION);
        if let Some(last) = candidates.last() {
            cursor = Some((last.record_type.clone(), last.record_id.clone()));
        }
        if found < room {
            // This type is read to its end; without a list of types, everything is.
            match record_type.and_then(|kind| resync.type_after(&kind)) {
                Some(next) => cursor = Some((next, String::new())),
                None => is_enumerated = true,
            }
        }
        room -= found;
        wanted.extend(candidates.into_iter().filter(|candidate| candidate.is_wanted));
    }
    enqueue(conn, &specs(delivery, &resync, &wanted)).await?;
    rows::save_cursor(conn, id, cursor.as_ref(), is_enumerated).await?;
    Ok(if is_enumerated { Progress::Nothing } else { Progress::More })
}

fn specs(delivery: &Delivery, resync: &Enumeration, wanted: &[Candidate]) -> Vec<JobSpec> {
    wanted
        .iter()
        .map(|candidate| JobSpec {
            app_id: resync.app_id,
            integration_id: resync.integration_id,
            job_type: EventType::Updated.as_str().to_owned(),
            payload: None,
            deduplication_id: Some(deduplication_id(&candidate.record_type, &candidate.record_id)),
            record: Some((candidate.record_type.clone(), candidate.record_id.clone())),
            serialize_key: None,
            correlation_id: Uuid::from(resync.id).to_string(),
            trace: None,
            batch_id: Some(resync.batch_id),
            priority: PRIORITY,
            run_at: None,
            gathers_until: None,
            expires_at: None,
            max_attempts: resync.max_attempts.unwrap_or(delivery.config.max_attempts),
            timeout_ms: resync.timeout_ms,
            // The mode decides which records are sent; each of them is sent whole.
            is_full: true,
        })
        .collect()
}
