//! What customers are told about a failure.

use crate::error::QueueError;
use chrono::{DateTime, Utc};
use model::{
    actor::Scope,
    failure::{CauseId, FailureNote, TellFailure},
    id::{AppId, IntegrationId},
    text::sanitise,
};
use sqlx::{PgConnection, PgExecutor};

/// Tells the customers of those integrations that have jobs of the group, or takes back what they were told; answers how many integrations.
///
/// # Errors
/// [`QueueError::NotFound`] when nobody in scope is affected.
pub async fn tell(
    connection: &mut PgConnection,
    scope: Scope,
    cause: CauseId,
    tell: &TellFailure,
) -> Result<i64, QueueError> {
    let note = tell.note.as_ref().map(|note| sanitise(note.trim(), 500));
    let told = sqlx::query!(
        r#"
        update headgate.failure_counts c
        set note = $2, noted_at = case when $2::text is not null then clock_timestamp() end
        from headgate.integrations i
        where c.cause = $1 and i.id = c.integration_id and (c.waiting + c.dead > 0 or c.note is not null)
            and ($3::uuid is null or i.app_id = $3) and ($4::uuid is null or i.app_id = $4) and ($5::uuid is null or i.id = $5)
        "#,
        cause.to_string(),
        note,
        scope.app_id() as Option<AppId>,
        tell.app_id as Option<AppId>,
        tell.integration_id as Option<IntegrationId>,
    )
    .execute(connection)
    .await?
    .rows_affected();
    if told == 0 { Err(QueueError::NotFound) } else { Ok(i64::try_from(told).unwrap_or(i64::MAX)) }
}

/// What the customer of an integration was told about what fails now, the newest first. What is over or mended is told no more.
///
/// # Errors
/// When the database is away.
pub async fn notes(
    db: impl PgExecutor<'_>,
    integration_id: IntegrationId,
) -> Result<Vec<FailureNote>, QueueError> {
    let notes = sqlx::query_as!(
        FailureNote,
        r#"
        select c.note as "text!", c.noted_at as "at!: DateTime<Utc>"
        from headgate.failure_counts c
        join headgate.failure_groups g on g.cause = c.cause
        where c.integration_id = $1 and c.note is not null and c.waiting + c.dead > 0
            and (g.fixed_at is null or g.fixed_at < c.last_at)
        order by c.noted_at desc limit 10
        "#,
        integration_id as IntegrationId,
    )
    .fetch_all(db)
    .await?;
    Ok(notes)
}
