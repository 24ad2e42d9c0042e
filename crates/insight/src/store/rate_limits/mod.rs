//! Rate limits as the API and the console show them, now and over time. Slots are reserved by the SQL function `reserve_slots`.

mod collect;
mod history;

pub use collect::collect;
pub use history::{SharedLimit, history, limits_of};

use chrono::{DateTime, Utc};
use model::actor::Scope;
use model::id::{AppId, IntegrationId};
use queue::error::QueueError;
use sqlx::PgPool;

/// One limit of one integration, and how much of it is used.
#[derive(Clone, Debug, PartialEq)]
pub struct RateLimitRow {
    /// The limit's key; integrations that share it have the same.
    pub key: String,
    /// The integration.
    pub integration_id: IntegrationId,
    /// Its app.
    pub app_id: AppId,
    /// The app's name.
    pub app_name: String,
    /// The integration's name.
    pub integration_name: String,
    /// The name by which integrations of an app share the limit; none: it is not shared.
    pub rate_limit_key: Option<String>,
    /// Requests allowed per window.
    pub requests: i32,
    /// Length of the window.
    pub per_seconds: i32,
    /// Slots used in the current window, or in the last one when the current has just begun.
    pub used: i32,
    /// When the next slot is free; in the past: now.
    pub next_free_at: DateTime<Utc>,
    /// The integration is quiet until then, because its system answered 429.
    pub quiet_until: Option<DateTime<Utc>>,
}

/// Every limit of all integrations in scope, or of one, ordered by integration.
pub async fn list(
    pool: &PgPool,
    scope: Scope,
    only: Option<IntegrationId>,
) -> Result<Vec<RateLimitRow>, QueueError> {
    let rows = sqlx::query!(
        r#"
        select r.key, i.id as "integration_id: IntegrationId", i.app_id as "app_id: AppId", a.name as app_name, i.name as integration_name, i.rate_limit_key,
            r.requests, r.per_seconds,
            (case
                when c.now_us < r.window_started_us + r.per_seconds * 1000000::bigint then greatest(r.used, 0)
                when c.now_us < r.window_started_us + 2 * r.per_seconds * 1000000::bigint then r.used
                else 0
            end) as "used!",
            to_timestamp(greatest(r.tat_us, r.quiet_until_us) / 1000000.0) as "next_free_at!",
            case when l.quiet_until > clock_timestamp() then l.quiet_until end as held_until
        from headgate.integrations i
        join headgate.apps a on a.id = i.app_id
        join headgate.lanes l on l.integration_id = i.id
        join headgate.rate_limits r on r.key = any (l.limit_keys)
        cross join (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us) c
        where ($1::uuid is null or i.app_id = $1) and ($2::uuid is null or i.id = $2)
        order by i.id, r.key
        "#,
        scope.app_id().map(|id| id.0),
        only as Option<IntegrationId>,
    )
    .fetch_all(pool)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| RateLimitRow {
            key: row.key,
            integration_id: row.integration_id,
            app_id: row.app_id,
            app_name: row.app_name,
            integration_name: row.integration_name,
            rate_limit_key: row.rate_limit_key,
            requests: row.requests,
            per_seconds: row.per_seconds,
            used: row.used,
            next_free_at: row.next_free_at,
            quiet_until: row.held_until,
        })
        .collect())
}
