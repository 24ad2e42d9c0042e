//! Notes on a failure, which apps see in the status of their integrations.

use chrono::{DateTime, Utc};
use model::actor::Scope;
use model::failure::{CauseId, FailureNote, SetFailureNote};
use model::id::{AppId, IntegrationId};
use model::text::sanitise;
use queue::error::QueueError;
use sqlx::{PgConnection, PgExecutor};

/// Sets or removes the note for all integrations that have jobs of the group; returns how many.
///
/// # Errors
/// [`QueueError::NotFound`] when no integration in scope is affected.
pub async fn set_note(
    connection: &mut PgConnection,
    scope: Scope,
    cause: CauseId,
    new: &SetFailureNote,
) -> Result<i64, QueueError> {
    let note = new.note.as_ref().map(|note| sanitise(note.trim(), 500));
    let noted = sqlx::query!(
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
        new.app_id as Option<AppId>,
        new.integration_id as Option<IntegrationId>,
    )
    .execute(connection)
    .await?
    .rows_affected();
    if noted == 0 { Err(QueueError::NotFound) } else { Ok(i64::try_from(noted).unwrap_or(i64::MAX)) }
}

/// Notes on what fails now at an integration, the newest first. Those on failures that are over or fixed are left out.
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
