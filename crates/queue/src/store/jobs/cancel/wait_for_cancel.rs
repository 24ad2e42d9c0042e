//! Waiting until a worker has stopped a job that was cancelled.

use crate::store::jobs::find;
use model::{actor::Scope, job::Job};
use sqlx::{Connection as _, PgPool};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// How long a cancel waits for the worker: long enough for a notification and a commit, and not too long for a person.
pub const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// The first interval between two polls; it doubles up to the second. Most workers stop within milliseconds.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(10);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Waits until the worker of a job that [`cancel`](crate::store::jobs::cancel()) returned has stopped it, or the timeout is over; returns the job as it is then.
/// Call it after the commit of the cancel: no transaction is kept open meanwhile.
///
/// The cancel request is committed by then, so a database that does not answer is no error: the job is returned as it was last read.
pub async fn wait_for_cancel(pool: &PgPool, scope: Scope, mut job: Job, timeout: Duration) -> Job {
    let deadline = Instant::now() + timeout;
    let mut interval = MIN_POLL_INTERVAL;
    while job.cancel_requested_at.is_some() && Instant::now() + interval < deadline {
        sleep(interval).await;
        interval = (interval * 2).min(MAX_POLL_INTERVAL);
        let poll = async {
            let mut connection = pool.acquire().await?;
            if connection.is_in_transaction() {
                // The whole call runs in one transaction: no worker is notified before its end.
                return Ok(None);
            }
            find(&mut connection, scope, job.id).await
        };
        match timeout_at(deadline, poll).await {
            Ok(Ok(Some(found))) => job = found,
            Ok(Ok(None)) | Err(_) => break,
            Ok(Err(error)) => {
                tracing::debug!(job.id = %job.id, %error, "cannot read whether job {} has stopped", job.id);
                break;
            }
        }
    }
    job
}
