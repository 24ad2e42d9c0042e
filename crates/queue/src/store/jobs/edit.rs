//! Another payload for a job that failed, before it is brought back.

use crate::{error::QueueError, store::jobs::find};
use model::{
    actor::Scope,
    id::{AppId, JobId},
    job::{Job, JobStatus},
};
use serde_json::Value;
use sqlx::PgConnection;

/// Gives a dead letter's job another payload; answers the job as it was. Run it in a transaction, before the job is requeued.
///
/// # Errors
/// [`QueueError::NotFound`]; [`QueueError::WrongState`] when it has not failed, or follows a record: then what is sent is the record's.
pub async fn change_payload(
    connection: &mut PgConnection,
    scope: Scope,
    id: JobId,
    payload: &Value,
) -> Result<Job, QueueError> {
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
    // Someone else was quicker: it is no dead letter any more.
    if changed.rows_affected() == 0 { Err(wrong) } else { Ok(job) }
}
