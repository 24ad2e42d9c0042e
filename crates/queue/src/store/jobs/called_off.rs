//! Which assignments are to be let go of.

use crate::error::QueueError;
use model::id::{AssignmentId, JobId};
use sqlx::PgConnection;

/// Those of the assignments whose jobs were called off, or are not theirs any more: whatever their handlers do, no attempt follows it, or
/// it is not recorded.
///
/// # Errors
/// When the database is away.
pub(crate) async fn called_off(
    connection: &mut PgConnection,
    held: &[(JobId, AssignmentId)],
) -> Result<Vec<AssignmentId>, QueueError> {
    let (jobs, assignments): (Vec<JobId>, Vec<AssignmentId>) = held.iter().copied().unzip();
    let found = sqlx::query_scalar!(
        r#"
        select h.assignment_id as "assignment_id!: AssignmentId"
        from unnest($1::uuid[], $2::uuid[]) as h (job_id, assignment_id)
        -- One probe of the primary key each, whatever the planner thinks of the table.
        left join lateral (
            select j.assignment_id, j.cancel_requested_of from headgate.jobs j where j.id = h.job_id offset 0
        ) j on true
        where j.assignment_id is distinct from h.assignment_id or j.cancel_requested_of = j.assignment_id
        "#,
        &jobs as &[JobId],
        &assignments as &[AssignmentId],
    )
    .fetch_all(connection)
    .await?;
    Ok(found)
}
