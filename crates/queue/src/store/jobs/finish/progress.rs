//! Progress of attempts.

use crate::error::Result;
use model::id::{AssignmentId, JobId};
use sqlx::PgPool;

/// Notes the progress of the attempt under this lease. False, and nothing is noted, when the lease was lost or the job was cancelled.
pub(crate) async fn note_progress(
    pool: &PgPool,
    (job_id, assignment_id): (JobId, AssignmentId),
    (done, total): (u64, Option<u64>),
    note: &str,
) -> Result<bool> {
    let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    // No wait for the disk: a crash of the database that loses the progress ends the attempt as well.
    let noted = sqlx::query!(
        r#"
        with relaxed as materialized (select set_config('synchronous_commit', 'off', true) as setting)
        update headgate.jobs j
        set progress = jsonb_build_object('done', $3::bigint, 'total', $4::bigint, 'note', nullif($5::text, ''), 'at', clock_timestamp())
        from relaxed
        where j.id = $1 and j.assignment_id = $2 and j.status = 1 and j.cancel_requested_of is distinct from j.assignment_id
            and relaxed.setting is not null
        "#,
        job_id.0,
        assignment_id.0,
        count(done),
        total.map(count),
        note,
    )
    .execute(pool)
    .await?;
    Ok(noted.rows_affected() > 0)
}
