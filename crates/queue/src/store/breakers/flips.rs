//! The history of state changes.

use crate::error::{QueueError, Result};
use chrono::{DateTime, Utc};
use model::actor::Scope;
use model::breaker::BreakerFlip;
use model::id::{AppId, BreakerFlipId, IntegrationId};
use model::page::{Page, PageRequest};
use sqlx::PgPool;

struct Row {
    id: BreakerFlipId,
    integration_id: IntegrationId,
    app_id: AppId,
    at: DateTime<Utc>,
    from_state: String,
    to_state: String,
    reason: String,
    actor: Option<String>,
}

/// The changes of one breaker, newest first.
///
/// # Errors
/// [`QueueError::NotFound`] when the scope has no such integration.
pub async fn flips(
    pool: &PgPool,
    scope: Scope,
    integration_id: IntegrationId,
    page: PageRequest,
) -> Result<Page<BreakerFlip>> {
    let is_there = sqlx::query_scalar!(
        r#"
        select exists (
            select 1 from headgate.integrations where id = $1 and ($2::uuid is null or app_id = $2)
        ) as "is_there!"
        "#,
        integration_id as IntegrationId,
        scope.app_id() as Option<AppId>,
    )
    .fetch_one(pool)
    .await?;
    if !is_there {
        return Err(QueueError::NotFound);
    }
    let rows = sqlx::query_as!(
        Row,
        r#"
        select id as "id: BreakerFlipId", integration_id as "integration_id: IntegrationId", app_id as "app_id: AppId", at, from_state,
            to_state, reason, actor
        from headgate.breaker_flips
        where integration_id = $1 and ($2::uuid is null or id < $2)
        order by id desc
        limit $3
        "#,
        integration_id as IntegrationId,
        page.after,
        page.limit + 1,
    )
    .fetch_all(pool)
    .await?;
    let flips = rows.into_iter().map(Row::into_flip).collect::<Result<Vec<_>, sqlx::Error>>()?;
    Ok(Page::from_surplus(flips, page.limit, |flip| flip.id.0))
}

impl Row {
    fn into_flip(self) -> Result<BreakerFlip, sqlx::Error> {
        let parse = |state: &str| state.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)));
        Ok(BreakerFlip {
            from_state: parse(&self.from_state)?,
            to_state: parse(&self.to_state)?,
            id: self.id,
            integration_id: self.integration_id,
            app_id: self.app_id,
            at: self.at,
            reason: self.reason,
            actor: self.actor,
        })
    }
}
