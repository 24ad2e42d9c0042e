//! Integrations, read and written as whole rows. What the claim needs of them is in `lanes`, which the queue writes in the same
//! transaction.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use model::actor::Scope;
use model::breaker::Breaker;
use model::id::{AppId, IntegrationId};
use model::integration::{Debounce, Integration, IntegrationState};
use model::integration_query::IntegrationFilter;
use model::page::{Page, PageRequest};
use model::rate_limit::{RateLimit, RateLimits};
use serde_json::{Map, Value};
use sqlx::{PgConnection, PgExecutor, PgPool, types::Json};

use crate::DeliveryError;

pub(crate) struct IntegrationRow {
    id: IntegrationId,
    app_id: AppId,
    name: String,
    integration_type: String,
    is_built_in: bool,
    endpoint_url: Option<String>,
    state: String,
    state_reason: Option<String>,
    breaker_state: String,
    breaker_since: Option<DateTime<Utc>>,
    probe_at: Option<DateTime<Utc>>,
    breaker_held_until: Option<DateTime<Utc>>,
    failures_in_a_row: i32,
    at_once: Option<i32>,
    breaker_reason: Option<String>,
    rate_limits: Json<Vec<RateLimit>>,
    rate_limit_key: Option<String>,
    max_concurrency: i32,
    timeout_ms: Option<i32>,
    max_attempts: Option<i16>,
    retry_schedule: Option<String>,
    record_types: Option<Vec<String>>,
    headers: Json<BTreeMap<String, String>>,
    bundle_window_seconds: Option<i32>,
    debounce_seconds: Option<i32>,
    debounce_max_seconds: Option<i32>,
    has_credentials: bool,
    metadata: Json<Map<String, Value>>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl TryFrom<IntegrationRow> for Integration {
    type Error = sqlx::Error;
    fn try_from(row: IntegrationRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: row.id,
            app_id: row.app_id,
            name: row.name,
            integration_type: parse_stored(&row.integration_type)?,
            is_built_in: row.is_built_in,
            endpoint_url: row.endpoint_url,
            state: parse_stored(&row.state)?,
            state_reason: row.state_reason,
            breaker: Breaker {
                state: parse_stored(&row.breaker_state)?,
                since: row.breaker_since,
                probe_at: row.probe_at,
                held_until: row.breaker_held_until,
                failures_in_a_row: row.failures_in_a_row,
                at_once: row.at_once,
                reason: row.breaker_reason,
            },
            rate_limit: RateLimits::from_vec(row.rate_limits.0),
            rate_limit_key: row.rate_limit_key,
            max_concurrency: row.max_concurrency,
            timeout_ms: row.timeout_ms,
            max_attempts: row.max_attempts,
            retry_schedule: row.retry_schedule,
            record_types: row.record_types,
            headers: row.headers.0,
            bundle_window_seconds: row.bundle_window_seconds,
            debounce: row
                .debounce_seconds
                .zip(row.debounce_max_seconds)
                .map(|(seconds, max_seconds)| Debounce { seconds, max_seconds }),
            has_credentials: row.has_credentials,
            metadata: row.metadata.0,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}

/// Parses the stored name of a variant. One that the table's CHECK allows and the model does not know means that their versions differ.
pub(crate) fn parse_stored<T: std::str::FromStr>(name: &str) -> Result<T, sqlx::Error>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    name.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// The secrets of an integration, sealed.
pub(crate) struct Sealed<'a> {
    pub(crate) signing_secret: &'a [u8],
    pub(crate) credentials: Option<&'a [u8]>,
}

pub(crate) async fn insert(
    conn: &mut PgConnection,
    integration: &Integration,
    sealed: Sealed<'_>,
) -> Result<(), DeliveryError> {
    let limits = integration.rate_limit.as_ref().map_or_else(Vec::new, RateLimits::to_vec);
    sqlx::query!(
        r#"
        insert into headgate.integrations (
            id, app_id, name, integration_type, is_built_in, endpoint_url, state, timeout_ms, max_attempts, max_concurrency,
            record_types, rate_limits, rate_limit_key, bundle_window_seconds, headers, metadata, signing_secret_sealed, credentials_sealed,
            retry_schedule, debounce_seconds, debounce_max_seconds
        ) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
        "#,
        integration.id as IntegrationId,
        integration.app_id as AppId,
        integration.name,
        integration.integration_type.as_str(),
        integration.is_built_in,
        integration.endpoint_url,
        integration.state.as_str(),
        integration.timeout_ms,
        integration.max_attempts,
        integration.max_concurrency,
        integration.record_types.as_deref(),
        Json(limits) as _,
        integration.rate_limit_key,
        integration.bundle_window_seconds,
        Json(&integration.headers) as _,
        Json(&integration.metadata) as _,
        sealed.signing_secret,
        sealed.credentials,
        integration.retry_schedule,
        integration.debounce.map(|debounce| debounce.seconds),
        integration.debounce.map(|debounce| debounce.max_seconds),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Writes every field that may change; the sealed credentials only when they are given.
pub(crate) async fn update(
    conn: &mut PgConnection,
    integration: &Integration,
    credentials: Option<Option<&[u8]>>,
) -> Result<(), DeliveryError> {
    let limits = integration.rate_limit.as_ref().map_or_else(Vec::new, RateLimits::to_vec);
    sqlx::query!(
        r#"
        update headgate.integrations
        set name = $2, endpoint_url = $3, state = $4, state_reason = $5, timeout_ms = $6, max_attempts = $7, max_concurrency = $8,
            record_types = $9, rate_limits = $10, rate_limit_key = $11, bundle_window_seconds = $12, headers = $13, metadata = $14,
            credentials_sealed = case when $15 then $16 else credentials_sealed end, retry_schedule = $17,
            debounce_seconds = $18, debounce_max_seconds = $19, updated_at = clock_timestamp()
        where id = $1
        "#,
        integration.id as IntegrationId,
        integration.name,
        integration.endpoint_url,
        integration.state.as_str(),
        integration.state_reason,
        integration.timeout_ms,
        integration.max_attempts,
        integration.max_concurrency,
        integration.record_types.as_deref(),
        Json(limits) as _,
        integration.rate_limit_key,
        integration.bundle_window_seconds,
        Json(&integration.headers) as _,
        Json(&integration.metadata) as _,
        credentials.is_some(),
        credentials.flatten(),
        integration.retry_schedule,
        integration.debounce.map(|debounce| debounce.seconds),
        integration.debounce.map(|debounce| debounce.max_seconds),
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn get(
    db: impl PgExecutor<'_>,
    scope: Scope,
    id: IntegrationId,
) -> Result<Integration, DeliveryError> {
    let row = sqlx::query_as!(
        IntegrationRow,
        r#"
        select i.id as "id: IntegrationId", i.app_id as "app_id: AppId", i.name, i.integration_type, i.is_built_in, i.endpoint_url,
            i.state, i.state_reason, coalesce(b.state, 'closed') as "breaker_state!", b.since as "breaker_since?", b.probe_at as "probe_at?",
            b.held_until as "breaker_held_until?", coalesce(b.failures_in_a_row, 0) as "failures_in_a_row!", b.at_once as "at_once?",
            b.reason as "breaker_reason?", i.rate_limits as "rate_limits: Json<Vec<RateLimit>>", i.rate_limit_key, i.max_concurrency,
            i.timeout_ms, i.max_attempts, i.retry_schedule, i.record_types, i.headers as "headers: Json<BTreeMap<String, String>>", i.bundle_window_seconds,
            i.debounce_seconds, i.debounce_max_seconds,
            i.credentials_sealed is not null as "has_credentials!", i.metadata as "metadata: Json<Map<String, Value>>", i.created_at,
            i.updated_at
        from headgate.integrations i
        left join headgate.breakers b on b.integration_id = i.id
        where i.id = $1 and ($2::uuid is null or i.app_id = $2)
        "#,
        id as IntegrationId,
        scope.app_id() as Option<AppId>,
    )
    .fetch_optional(db)
    .await?
    .ok_or_else(not_found)?;
    Ok(row.try_into()?)
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowLock {
    /// Against other changes of the row; jobs may still be made for it.
    Change,
    /// Against references to it as well: a transaction that makes jobs for it has committed, or begins after this one.
    Deletion,
}

/// Locks a row until the end of the transaction, and reads it.
pub(crate) async fn lock(
    conn: &mut PgConnection,
    scope: Scope,
    id: IntegrationId,
    lock: RowLock,
) -> Result<Integration, DeliveryError> {
    let row = match lock {
        RowLock::Change => {
            sqlx::query_scalar!(
                "select id from headgate.integrations where id = $1 for no key update",
                id as IntegrationId
            )
            .fetch_optional(&mut *conn)
            .await?
        }
        RowLock::Deletion => {
            sqlx::query_scalar!(
                "select id from headgate.integrations where id = $1 for update",
                id as IntegrationId
            )
            .fetch_optional(&mut *conn)
            .await?
        }
    };
    row.ok_or_else(not_found)?;
    get(conn, scope, id).await
}

pub(crate) async fn list(
    pool: &PgPool,
    scope: Scope,
    filter: IntegrationFilter,
    page: PageRequest,
) -> Result<Page<Integration>, DeliveryError> {
    let rows = sqlx::query_as!(
        IntegrationRow,
        r#"
        select i.id as "id: IntegrationId", i.app_id as "app_id: AppId", i.name, i.integration_type, i.is_built_in, i.endpoint_url,
            i.state, i.state_reason, coalesce(b.state, 'closed') as "breaker_state!", b.since as "breaker_since?", b.probe_at as "probe_at?",
            b.held_until as "breaker_held_until?", coalesce(b.failures_in_a_row, 0) as "failures_in_a_row!", b.at_once as "at_once?",
            b.reason as "breaker_reason?", i.rate_limits as "rate_limits: Json<Vec<RateLimit>>", i.rate_limit_key, i.max_concurrency,
            i.timeout_ms, i.max_attempts, i.retry_schedule, i.record_types, i.headers as "headers: Json<BTreeMap<String, String>>", i.bundle_window_seconds,
            i.debounce_seconds, i.debounce_max_seconds,
            i.credentials_sealed is not null as "has_credentials!", i.metadata as "metadata: Json<Map<String, Value>>", i.created_at,
            i.updated_at
        from headgate.integrations i
        left join headgate.breakers b on b.integration_id = i.id
        where ($1::uuid is null or i.app_id = $1) and ($2::uuid is null or i.app_id = $2) and ($3::text is null or i.state = $3)
            and ($4::uuid is null or i.id < $4)
        order by i.id desc limit $5
        "#,
        scope.app_id() as Option<AppId>,
        filter.app_id as Option<AppId>,
        filter.state.map(IntegrationState::as_str),
        page.after,
        page.limit + 1,
    )
    .fetch_all(pool)
    .await?;
    let integrations: Vec<Integration> =
        rows.into_iter().map(Integration::try_from).collect::<Result<_, _>>()?;
    Ok(Page::from_surplus(integrations, page.limit, |integration| integration.id.0))
}

pub(crate) async fn set_state(
    conn: &mut PgConnection,
    id: IntegrationId,
    state: IntegrationState,
    reason: Option<&str>,
) -> Result<(), DeliveryError> {
    sqlx::query!(
        "update headgate.integrations set state = $2, state_reason = $3, updated_at = clock_timestamp() where id = $1",
        id as IntegrationId,
        state.as_str(),
        reason,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// `new` signs from now on. `previous`, which is the old secret sealed for its column, signs as well for 24 hours, and older ones for the
/// rest of theirs.
pub(crate) async fn rotate_secret(
    conn: &mut PgConnection,
    id: IntegrationId,
    new: &[u8],
    previous: Option<&[u8]>,
) -> Result<(), DeliveryError> {
    sqlx::query!(
        r#"
        update headgate.integrations i
        set signing_secret_sealed = $2,
            previous_secret_sealed = $3,
            previous_secret_until = case when $3::bytea is null then null else clock_timestamp() + interval '24 hours' end,
            older_secrets_sealed = older.sealed,
            older_secrets_until = older.until,
            updated_at = clock_timestamp()
        from (
            select coalesce(array_agg(p.sealed order by p.until), '{}') as sealed,
                coalesce(array_agg(p.until order by p.until), '{}') as until
            from headgate.integrations b
            cross join lateral unnest(
                array_append(b.older_secrets_sealed, b.previous_secret_sealed),
                array_append(b.older_secrets_until, b.previous_secret_until)
            ) as p (sealed, until)
            where b.id = $1 and p.until > clock_timestamp()
        ) older
        where i.id = $1
        "#,
        id as IntegrationId,
        new,
        previous,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The first signing secret that was made, if there is any.
pub(crate) async fn oldest_signing_secret(
    pool: &PgPool,
) -> Result<Option<(IntegrationId, Vec<u8>)>, DeliveryError> {
    let row = sqlx::query!(
        r#"
        select id as "id: IntegrationId", signing_secret_sealed from headgate.integrations
        -- The lanes of a program's own jobs have none.
        where octet_length(signing_secret_sealed) > 0
        order by id limit 1
        "#
    )
    .fetch_optional(pool)
    .await?;
    Ok(row.map(|row| (row.id, row.signing_secret_sealed)))
}

/// The secrets of an integration's requests, sealed.
#[derive(Clone)]
pub(crate) struct SealedSecrets {
    pub(crate) signing_secret: Vec<u8>,
    /// Oldest first.
    pub(crate) previous_secrets: Vec<Option<Vec<u8>>>,
    /// Until when each of them signs.
    pub(crate) previous_until: Vec<Option<DateTime<Utc>>>,
    pub(crate) credentials: Option<Vec<u8>>,
}

impl SealedSecrets {
    /// The previous secrets that still sign, newest first.
    pub(crate) fn still_signing(&self, now: DateTime<Utc>) -> impl Iterator<Item = &[u8]> {
        let each = self.previous_secrets.iter().zip(&self.previous_until).rev();
        each.filter(move |(_, until)| until.is_some_and(|until| until > now))
            .filter_map(|(sealed, _)| sealed.as_deref())
    }
}

pub(crate) async fn secrets(
    db: impl PgExecutor<'_>,
    id: IntegrationId,
) -> Result<SealedSecrets, DeliveryError> {
    sqlx::query_as!(
        SealedSecrets,
        r#"
        select signing_secret_sealed as signing_secret,
            array_append(older_secrets_sealed, previous_secret_sealed) as "previous_secrets!: Vec<Option<Vec<u8>>>",
            array_append(older_secrets_until, previous_secret_until) as "previous_until!: Vec<Option<DateTime<Utc>>>",
            credentials_sealed as credentials
        from headgate.integrations where id = $1
        "#,
        id as IntegrationId,
    )
    .fetch_optional(db)
    .await?
    .ok_or_else(not_found)
}

/// How many live jobs these integrations have: the counters with their unfolded deltas.
pub(crate) async fn live_jobs(conn: &mut PgConnection, ids: &[uuid::Uuid]) -> Result<i64, DeliveryError> {
    let live = sqlx::query_scalar!(
        r#"
        select coalesce(sum(n), 0)::bigint as "n!" from (
            select n from headgate.job_counts where integration_id = any ($1) and status in (0, 1, 2)
            union all
            select n from headgate.job_count_deltas where integration_id = any ($1) and status in (0, 1, 2)
        ) counted
        "#,
        ids,
    )
    .fetch_one(conn)
    .await?;
    Ok(live)
}

pub(crate) async fn delete(conn: &mut PgConnection, id: IntegrationId) -> Result<(), DeliveryError> {
    sqlx::query!("delete from headgate.integrations where id = $1", id as IntegrationId)
        .execute(conn)
        .await?;
    Ok(())
}

/// When the changes that a bundle gathers now are due; none: the integration is no bundle, or is gone.
pub(crate) async fn window_ends_at(
    db: impl PgExecutor<'_>,
    id: IntegrationId,
) -> Result<Option<DateTime<Utc>>, DeliveryError> {
    let ends_at = sqlx::query_scalar!(
        r#"
        select headgate.window_ends_at(bundle_window_seconds) as "ends_at!" from headgate.integrations
        where id = $1 and bundle_window_seconds is not null
        "#,
        id as IntegrationId,
    )
    .fetch_optional(db)
    .await?;
    Ok(ends_at)
}

pub(crate) fn not_found() -> DeliveryError {
    DeliveryError::not_found("integration")
}
