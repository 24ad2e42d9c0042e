//! Letting jobs run earlier than they were to.

use crate::error::QueueError;
use chrono::{DateTime, Utc};
use model::id::IntegrationId;
use sqlx::PgConnection;

/// Lets the pending jobs of an integration that wait for a later time run at this one. Answers how many there were.
///
/// A job that someone changes right now is passed over: it keeps its time.
///
/// # Errors
/// When the database is away.
pub async fn hasten(
    connection: &mut PgConnection,
    integration_id: IntegrationId,
    run_at: DateTime<Utc>,
) -> Result<u64, QueueError> {
    let done = sqlx::query!(
        r#"
        with later as materialized (
            select j.id from headgate.jobs j
            where j.integration_id = $1 and j.status = 0 and j.run_at > $2
            order by j.deduplication_id, j.id
            for update skip locked
        ), hastened as materialized (
            update headgate.jobs j set run_at = $2 from later l where j.id = l.id
            returning j.id
        )
        update headgate.waiting w set due_at = $2 from hastened h where w.job_id = h.id
        "#,
        integration_id as IntegrationId,
        run_at,
    )
    // Planned for the table as it is: see `finish::BEGIN`.
    .persistent(false)
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}
