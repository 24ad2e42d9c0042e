//! Changing the payload of a failed job before it is requeued.

use crate::error::{QueueError, Result};
use crate::store::jobs::find;
use model::actor::Scope;
use model::id::{AppId, JobId};
use model::job::{Job, JobStatus};
use serde_json::Value;
use sqlx::PgConnection;

/// Replaces the payload of a dead letter and returns the job as it was. Run it in a transaction, before the job is requeued.
///
/// # Errors
/// [`QueueError::NotFound`]; [`QueueError::WrongState`] when the job has not failed, or belongs to a record: then the record's data are sent.
pub async fn change_payload(
    connection: &mut PgConnection,
    scope: Scope,
    id: JobId,
    payload: &Value,
) -> Result<Job> {
    let job = find(connection, scope, id).await?.ok_or(QueueError::NotFound)?;
    let wrong = QueueError::WrongState { status: job.status, wanted: "edited" };
    if job.status != JobStatus::Failed || job.record_id.is_some() {
        return Err(wrong);
    }
    let changed = sqlx::query!(
        r#"
        update headgate.dead_letter_jobs set payload = $3
        where job_id = $1 and record_id is null and ($2::uuid is null or app_id = $2)
        "#,
        id as JobId,
        scope.app_id() as Option<AppId>,
        payload,
    )
    .execute(connection)
    .await?;
    // No row: somebody else requeued or purged it meanwhile.
    if changed.rows_affected() == 0 { Err(wrong) } else { Ok(job) }
}
