//! Snoozing, fixing and reopening a group.

use chrono::{DateTime, Utc};
use model::failure::{CauseId, FailureMarks};
use queue::error::QueueError;
use sqlx::PgConnection;

/// A change of a group's marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Snoozed until then.
    Snooze(DateTime<Utc>),
    /// Fixed: the next failure opens it again.
    Fix,
    /// Neither snoozed nor fixed.
    Reopen,
}

/// Marks a group; returns the marks before and after.
///
/// # Errors
/// [`QueueError::NotFound`] when there is no such group.
pub async fn mark(
    connection: &mut PgConnection,
    cause: CauseId,
    mark: Mark,
) -> Result<(FailureMarks, FailureMarks), QueueError> {
    let before = sqlx::query_as!(
        FailureMarks,
        "select snoozed_until, fixed_at from headgate.failure_groups where cause = $1 for update",
        cause.to_string(),
    )
    .fetch_optional(&mut *connection)
    .await?
    .ok_or(QueueError::NotFound)?;
    let until = if let Mark::Snooze(until) = mark { Some(until) } else { None };
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
        mark == Mark::Fix,
    )
    .fetch_one(connection)
    .await?;
    Ok((before, after))
}
