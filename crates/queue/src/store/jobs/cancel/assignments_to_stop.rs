//! Which assignments a worker is to stop.

use crate::error::Result;
use model::id::{AssignmentId, JobId};
use sqlx::PgConnection;

/// Those of the leases whose job was cancelled, or that do not own their job any more. After a cancelled attempt no other follows, and without the
/// lease no result is recorded.
pub(crate) async fn assignments_to_stop(
    connection: &mut PgConnection,
    leases: &[(JobId, AssignmentId)],
) -> Result<Vec<AssignmentId>> {
    let (jobs, assignments): (Vec<JobId>, Vec<AssignmentId>) = leases.iter().copied().unzip();
    let found = sqlx::query_scalar!(
        r#"
        select h.assignment_id as "assignment_id!: AssignmentId"
        from unnest($1::uuid[], $2::uuid[]) as h (job_id, assignment_id)
        -- `offset 0`: one probe of the primary key each, whatever the statistics say.
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
