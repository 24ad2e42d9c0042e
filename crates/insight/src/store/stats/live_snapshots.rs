//! Live snapshots: one row a second, which every server process reads, so that any number of browsers costs the database what one does.

use super::Measures;
use chrono::{DateTime, Utc};
use model::id::{IntegrationId, WorkerId};
use model::stats::Snapshot;
use queue::{error::QueueError, store::leader::Term};
use sqlx::{PgPool, types::Json};
use std::time::Duration;

/// Writes a snapshot and deletes those older than an hour; of those older than a minute one in ten seconds stays.
/// Measures are taken less often: most rows have none. False when the term is over.
pub async fn write(
    pool: &PgPool,
    term: Term,
    snapshot: &Snapshot,
    measures: Option<&Measures>,
) -> Result<bool, QueueError> {
    let written = sqlx::query!(
        r#"
        with deleted as (
            delete from headgate.live_snapshots
            where (
                at < clock_timestamp() - interval '1 hour'
                or (
                    at between clock_timestamp() - interval '2 minutes' and clock_timestamp() - interval '1 minute'
                    and floor(extract(epoch from at))::bigint % 10 <> 0
                )
            ) and (select headgate.is_leader($1, $2))
        )
        insert into headgate.live_snapshots (at, body, measures)
        select $3, $4, $5 where (select headgate.is_leader($1, $2))
        on conflict (at) do nothing
        "#,
        term.holder as WorkerId,
        term.number,
        snapshot.at,
        Json(snapshot) as _,
        measures.map(Json) as _,
    )
    .execute(pool)
    .await?;
    Ok(written.rows_affected() == 1)
}

/// A snapshot as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// When it was taken.
    pub at: DateTime<Utc>,
    /// How long ago that was, by the database's clock.
    pub age: Duration,
    /// The [`Snapshot`] as JSON; none when it is not newer than the caller's.
    pub json: Option<String>,
    /// When the newest measures were taken, and their JSON if they are newer than the caller's.
    pub measures: Option<(DateTime<Utc>, Option<String>)>,
}

/// The newest snapshot and the newest measures; their bodies only if the caller has not seen them.
pub async fn newest(
    pool: &PgPool,
    seen: Option<DateTime<Utc>>,
    seen_measures: Option<DateTime<Utc>>,
) -> Result<Option<Written>, QueueError> {
    let row = sqlx::query!(
        r#"
        select n.at, greatest(extract(epoch from clock_timestamp() - n.at)::float8, 0) as "age!",
            case when n.at is distinct from $1 then n.body::text end as json,
            m.at as "measures_at?", case when m.at is distinct from $2 then m.measures::text end as measures
        from (select at, body from headgate.live_snapshots order by at desc limit 1) n
        left join lateral (
            select s.at, s.measures from headgate.live_snapshots s
            where s.measures is not null and s.at > n.at - interval '1 minute'
            order by s.at desc limit 1
        ) m on true
        "#,
        seen,
        seen_measures,
    )
    .fetch_optional(pool)
    .await?;
    Ok(row.map(|row| Written {
        at: row.at,
        age: Duration::from_secs_f64(row.age),
        json: row.json,
        measures: row.measures_at.map(|at| (at, row.measures)),
    }))
}

/// When the newest snapshot in this database, which may be a replica, was taken.
pub async fn newest_at(pool: &PgPool) -> Result<Option<DateTime<Utc>>, QueueError> {
    let newest = sqlx::query_scalar!("select at from headgate.live_snapshots order by at desc limit 1");
    Ok(newest.fetch_optional(pool).await?)
}

/// The measures written last, however long ago, and when; none before the first, or if this version cannot read them.
pub async fn last_measures(pool: &PgPool) -> Result<Option<(DateTime<Utc>, Measures)>, QueueError> {
    let row = sqlx::query!(
        r#"
        select at, measures::text as "measures!" from headgate.live_snapshots where measures is not null order by at desc limit 1
        "#
    )
    .fetch_optional(pool)
    .await?;
    Ok(row.and_then(|row| Some((row.at, serde_json::from_str(&row.measures).ok()?))))
}

/// The sampler's last ETA of an integration; none when it did not see the integration, or took no snapshot for ten seconds.
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
    // JSON null reads as the text "null": the integration was seen and has no ETA.
    Ok(eta.flatten().map(|eta| eta.parse().ok()))
}
