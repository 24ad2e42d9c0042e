//! Waiting until a worker has let go of a job that was called off.

use crate::store::jobs::find;
use model::{actor::Scope, job::Job};
use sqlx::{Connection as _, PgPool};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// How long a request for a cancel waits for the worker: time for a notification and a commit, and nobody stares at it.
pub const LET_GO_PATIENCE: Duration = Duration::from_secs(2);

/// Between two looks: most workers answer within milliseconds.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// The job, as [`cancel`](super::cancel) answered it, once its worker has let go of it; or as it is after so long. Call it after the commit
/// that called it off: no transaction is held open meanwhile.
///
/// The request stands by then, so a database that does not answer is no error: the job is told as it was last seen.
pub async fn until_let_go(pool: &PgPool, scope: Scope, mut job: Job, at_most: Duration) -> Job {
    let deadline = Instant::now() + at_most;
    let mut pause = FIRST_PAUSE;
    while job.cancel_requested_at.is_some() && Instant::now() + pause < deadline {
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        let look = async {
            let mut connection = pool.acquire().await?;
            if connection.is_in_transaction() {
                // The call is one transaction: before its end no worker hears of it.
                return Ok(None);
            }
            find(&mut connection, scope, job.id).await
        };
        match timeout_at(deadline, look).await {
            Ok(Ok(Some(found))) => job = found,
            Ok(Ok(None)) | Err(_) => break,
            Ok(Err(error)) => {
                tracing::debug!(job.id = %job.id, %error, "whether job {} was let go of cannot be seen", job.id);
                break;
            }
        }
    }
    job
}
