//! Snoozing, fixing and reopening a group.

use model::failure::{CauseId, FailureMarks, FailureStep};
use queue::error::QueueError;
use sqlx::PgConnection;

/// Marks a group; returns the marks before and after.
///
/// # Errors
/// [`QueueError::NotFound`] when there is no such group.
pub async fn mark(
    connection: &mut PgConnection,
    cause: CauseId,
    step: FailureStep,
) -> Result<(FailureMarks, FailureMarks), QueueError> {
    let before = sqlx::query_as!(
        FailureMarks,
        "select snoozed_until, fixed_at from headgate.failure_groups where cause = $1 for update",
        cause.to_string(),
    )
    .fetch_optional(&mut *connection)
    .await?
    .ok_or(QueueError::NotFound)?;
    let until = if let FailureStep::Snooze(until) = step { Some(until) } else { None };
    let after = sqlx::query_as!(
        FailureMarks,
        r#"
        update headgate.failure_groups
        set snoozed_until = $2, fixed_at = case when $3 then clock_timestamp() end
        where cause = $1
        returning snoozed_until, fixed_at
        "#,
        cause.to_string(),
        until,
        step == FailureStep::Fix,
    )
    .fetch_one(connection)
    .await?;
    Ok((before, after))
}
