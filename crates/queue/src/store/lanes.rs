//! Lanes: what the claim reads of an integration, and its rate limits. Written in the transaction that writes the integration.

use crate::error::{QueueError, Result};
use model::id::{AppId, IntegrationId};
use model::rate_limit::RateLimit;
use sqlx::{PgConnection, PgPool};
use std::time::Duration;

/// What the claim reads of an integration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    pub integration_id: IntegrationId,
    pub app_id: AppId,
    /// Whether external workers take its jobs: the engine claims none.
    pub is_external: bool,
    /// Whether its jobs run.
    pub is_open: bool,
    /// Jobs that run at once, over all processes; requests at once where one request delivers several jobs.
    pub max_concurrency: i32,
    /// Jobs that one request delivers at most, 1 or more. Jobs claimed together meet in [`crate::LeasedJob::share_with_peers`].
    pub jobs_per_request: i32,
    /// Keys of the rows of `rate_limits` that count every request.
    pub limit_keys: Vec<String>,
}

/// The key of an integration's own limit, by its index. (Shared limits have keys of another form.)
#[must_use]
pub fn own_limit_key(integration_id: IntegrationId, index: usize) -> String {
    format!("integration:{integration_id}:{index}")
}

/// Creates or changes a lane. Until when it is quiet and when it was last served stay as they are, and so does `is_external`: a program that does
/// the jobs of its own lanes must not lose them because an operator changes their concurrency.
pub async fn upsert(connection: &mut PgConnection, lane: &Lane) -> Result<()> {
    sqlx::query!(
        r#"
        insert into headgate.lanes (integration_id, app_id, is_external, is_open, max_concurrency, jobs_per_request, limit_keys)
        values ($1, $2, $3, $4, $5, $6, $7)
        on conflict (integration_id) do update set is_open = excluded.is_open,
            max_concurrency = excluded.max_concurrency, jobs_per_request = excluded.jobs_per_request, limit_keys = excluded.limit_keys
        "#,
        lane.integration_id.0,
        lane.app_id.0,
        lane.is_external,
        lane.is_open,
        lane.max_concurrency,
        lane.jobs_per_request,
        &lane.limit_keys,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The integration's own retry schedule, in the format of the setting; none: that of the process applies.
pub(crate) async fn retry_schedule(pool: &PgPool, integration_id: IntegrationId) -> Result<Option<String>> {
    let own = sqlx::query_scalar!(
        "select retry_schedule from headgate.integrations where id = $1",
        integration_id.0
    )
    .fetch_optional(pool)
    .await?;
    Ok(own.flatten())
}

/// Opens a lane: resume, enable.
///
/// # Errors
/// [`QueueError::NotFound`] when there is no such lane.
pub async fn open(connection: &mut PgConnection, integration_id: IntegrationId) -> Result<()> {
    set_open(connection, integration_id, true).await
}

/// Closes a lane: pause, disable. Running jobs continue.
///
/// # Errors
/// [`QueueError::NotFound`] when there is no such lane.
pub async fn close(connection: &mut PgConnection, integration_id: IntegrationId) -> Result<()> {
    set_open(connection, integration_id, false).await
}

async fn set_open(connection: &mut PgConnection, integration_id: IntegrationId, is_open: bool) -> Result<()> {
    let done = sqlx::query!(
        "update headgate.lanes set is_open = $2 where integration_id = $1",
        integration_id.0,
        is_open
    )
    .execute(connection)
    .await?;
    if done.rows_affected() == 0 { Err(QueueError::NotFound) } else { Ok(()) }
}

/// Makes a lane, and all that share its limits, quiet for this long from now, because the external system answered 429. A longer quiet time that is
/// set already is never shortened.
pub async fn set_quiet(
    connection: &mut PgConnection,
    integration_id: IntegrationId,
    quiet: Duration,
) -> Result<()> {
    let quiet_us = i64::try_from(quiet.as_micros()).unwrap_or(i64::MAX / 4);
    // Rate limits first, in the order of their keys: locks are taken in that order everywhere.
    sqlx::query!(
        r#"
        with rows as materialized (
            select r.key from headgate.rate_limits r
            where r.key = any ((select l.limit_keys from headgate.lanes l where l.integration_id = $1)::text[])
            order by r.key
            for update
        )
        update headgate.rate_limits r
        set quiet_until_us = greatest(r.quiet_until_us, (extract(epoch from clock_timestamp()) * 1000000)::bigint + $2)
        from rows
        where r.key = rows.key
        "#,
        integration_id.0,
        quiet_us,
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        r#"
        update headgate.lanes
        set quiet_until = greatest(quiet_until, clock_timestamp() + $2 * interval '1 microsecond')
        where integration_id = $1
        "#,
        integration_id.0,
        quiet_us as f64,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Sets the parameters of limits (`limits[n]` of `keys[n]`). The time of the next free slot stays as it is: a change of limits must not
/// allow a burst.
pub async fn set_limits(connection: &mut PgConnection, keys: &[String], limits: &[RateLimit]) -> Result<()> {
    let mut rows: Vec<(&String, &RateLimit)> = keys.iter().zip(limits).collect();
    rows.sort_by(|a, b| a.0.cmp(b.0));
    rows.dedup_by(|a, b| a.0 == b.0);
    sqlx::query!(
        r#"
        insert into headgate.rate_limits as r (key, requests, per_seconds, emission_us)
        select g.key, g.requests, g.per_seconds, g.emission_us
        from unnest($1::text[], $2::int[], $3::int[], $4::bigint[]) with ordinality as g (key, requests, per_seconds, emission_us, n)
        order by g.n
        on conflict (key) do update
        set requests = excluded.requests, per_seconds = excluded.per_seconds, emission_us = excluded.emission_us,
            -- A limit that became wider must not wait for the spacing of the narrow one; but slots up to half a second ahead may be
            -- reserved already, and the next one comes after them.
            tat_us = least(r.tat_us, (extract(epoch from clock_timestamp()) * 1000000)::bigint + 500000 + excluded.emission_us)
        "#,
        &rows.iter().map(|(key, _)| (*key).clone()).collect::<Vec<_>>(),
        &rows.iter().map(|(_, limit)| limit.requests).collect::<Vec<_>>(),
        &rows.iter().map(|(_, limit)| limit.per_seconds).collect::<Vec<_>>(),
        &rows.iter().map(|(_, limit)| limit.emission_us()).collect::<Vec<_>>(),
    )
    .execute(connection)
    .await?;
    Ok(())
}
