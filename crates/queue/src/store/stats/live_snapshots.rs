//! The row a second that every server process reads: N browsers cost the database what one costs.

use crate::{error::QueueError, store::leader::Term};
use chrono::{DateTime, Utc};
use model::{
    id::{IntegrationId, WorkerId},
    stats::{Snapshot, Totals},
};
use sqlx::{PgPool, types::Json};
use std::time::Duration;

/// Writes a snapshot and forgets those of more than an hour ago; of those older than a minute one in ten seconds stays.
/// False when the term is over.
///
/// # Errors
/// When the database cannot be asked.
pub async fn write(pool: &PgPool, term: Term, snapshot: &Snapshot) -> Result<bool, QueueError> {
    let written = sqlx::query!(
        r#"
        with forgotten as (
            delete from headgate.live_snapshots
            where (
                at < clock_timestamp() - interval '1 hour'
                or (
                    at between clock_timestamp() - interval '2 minutes' and clock_timestamp() - interval '1 minute'
                    and floor(extract(epoch from at))::bigint % 10 <> 0
                )
            ) and (select headgate.is_leader($1, $2))
        )
        insert into headgate.live_snapshots (at, body)
        select $3, $4 where (select headgate.is_leader($1, $2))
        on conflict (at) do nothing
        "#,
        term.holder as WorkerId,
        term.number,
        snapshot.at,
        Json(snapshot) as _,
    )
    .execute(pool)
    .await?;
    Ok(written.rows_affected() == 1)
}

/// A snapshot as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// When the sampler read it.
    pub at: DateTime<Utc>,
    /// How long ago that was, on the database's clock.
    pub age: Duration,
    /// The [`Snapshot`] as JSON; none when it is not newer than what the caller has.
    pub json: Option<String>,
}

/// The newest snapshot; its body only when it is newer than `seen`.
///
/// # Errors
/// When the database cannot be asked.
pub async fn newest(pool: &PgPool, seen: Option<DateTime<Utc>>) -> Result<Option<Written>, QueueError> {
    let row = sqlx::query!(
        r#"
        select at, greatest(extract(epoch from clock_timestamp() - at)::float8, 0) as "age!",
            case when at is distinct from $1 then body::text end as json
        from headgate.live_snapshots
        order by at desc
        limit 1
        "#,
        seen,
    )
    .fetch_optional(pool)
    .await?;
    Ok(row.map(|row| Written { at: row.at, age: Duration::from_secs_f64(row.age), json: row.json }))
}

/// The totals of the last hour, the last of each minute, oldest first.
///
/// # Errors
/// When the database cannot be asked.
pub async fn minutes(pool: &PgPool) -> Result<Vec<(DateTime<Utc>, Totals)>, QueueError> {
    let rows = sqlx::query!(
        r#"
        select distinct on (date_trunc('minute', at)) at, body -> 'totals' as "totals!: Json<Totals>"
        from headgate.live_snapshots
        where at > clock_timestamp() - interval '1 hour'
        order by date_trunc('minute', at), at desc
        "#,
    )
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().map(|row| (row.at, row.totals.0)).collect())
}

/// One integration's ETA as the sampler last saw it; none when it saw no such integration, or sampled nothing for ten seconds.
///
/// # Errors
/// When the database cannot be asked.
pub async fn eta_seconds(
    pool: &PgPool,
    integration_id: IntegrationId,
) -> Result<Option<Option<i64>>, QueueError> {
    let eta = sqlx::query_scalar!(
        r#"
        select jsonb_path_query_first(
            body, '$.integrations[*] ? (@.integration_id == $id).eta_seconds', jsonb_build_object('id', $1::uuid::text)
        )::text as "eta"
        from (
            select at, body from headgate.live_snapshots order by at desc limit 1
        ) newest
        where at > clock_timestamp() - interval '10 seconds'
        "#,
        integration_id as IntegrationId,
    )
    .fetch_optional(pool)
    .await?;
    // JSON null reads as the text "null": seen, and no answer.
    Ok(eta.flatten().map(|eta| eta.parse().ok()))
}
