//! What a sync status shows apart from counts.

use chrono::{DateTime, Utc};
use model::{
    id::IntegrationId, rate_limit::RateLimitUse, rules::masking::without_secrets, sync_status::LastError,
};
use sqlx::PgPool;

use crate::DeliveryError;

/// Moments and gauges of one integration.
#[derive(Clone, Debug)]
pub struct Marks {
    /// The database's time of the read.
    pub now: DateTime<Utc>,
    /// Age of the oldest claimable job; none: nothing can run.
    pub oldest_pending_age_seconds: Option<i64>,
    /// When it last accepted something.
    pub last_success_at: Option<DateTime<Utc>>,
    /// The last failure, without secrets.
    pub last_error: Option<LastError>,
    /// The use of the tightest limit.
    pub rate_limit: Option<RateLimitUse>,
}

/// The leader folds the last success from deltas; the unfolded ones are added here.
pub(crate) async fn read(pool: &PgPool, integration_id: IntegrationId) -> Result<Marks, DeliveryError> {
    let row = sqlx::query!(
        r#"
        select clock_timestamp() as "now!",
            case when o.at is not null then greatest(extract(epoch from clock_timestamp() - o.at)::bigint, 0) end
                as oldest_pending_age_seconds,
            greatest(
                m.last_success_at,
                (select max(at) from headgate.throughput_deltas where integration_id = $1 and completed + unchanged > 0)
            ) as last_success_at,
            m.error_at as "error_at?", m.error_message as "error_message?", m.error_status as "error_status?",
            t.requests as "limit_requests?", t.per_seconds as "limit_per_seconds?", t.used as "limit_used?"
        from (select headgate.oldest_ready_at($1) as at) o
        left join headgate.integration_marks m on m.integration_id = $1
        left join lateral (
            select r.requests, r.per_seconds, headgate.slots_used(r) as used
            from headgate.lanes l
            join headgate.rate_limits r on r.key = any (l.limit_keys)
            where l.integration_id = $1
            order by r.emission_us desc, r.key
            limit 1
        ) t on true
        "#,
        integration_id as IntegrationId,
    )
    .fetch_one(pool)
    .await?;
    let rate_limit = match (row.limit_requests, row.limit_per_seconds, row.limit_used) {
        (Some(limit), Some(per_seconds), Some(used)) => Some(RateLimitUse { limit, used, per_seconds }),
        _ => None,
    };
    Ok(Marks {
        now: row.now,
        oldest_pending_age_seconds: row.oldest_pending_age_seconds,
        last_success_at: row.last_success_at,
        last_error: row.error_at.zip(row.error_message).map(|(at, message)| LastError {
            at,
            message: without_secrets(message),
            response_status: row.error_status,
        }),
        rate_limit,
    })
}
