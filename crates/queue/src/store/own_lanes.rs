//! Lanes whose jobs are done by this program's own handlers, without an external system: an app, an integration of type `external`
//! (nothing is sent), and a lane that the engine claims from all the same. The integration is what pages, counters and operators see.

use crate::LaneOptions;
use crate::error::{QueueError, Result};
use crate::store::built_in;
use crate::store::lanes::{self, Lane};
use chrono::{DateTime, Utc};
use model::id::{AppId, IntegrationId};
use model::limits;
use sqlx::{PgConnection, types::Json};

/// The lane a job is enqueued into, and its settings.
#[derive(Clone, Debug)]
pub(crate) struct LaneTarget {
    pub(crate) app_id: AppId,
    pub(crate) integration_id: IntegrationId,
    pub(crate) max_attempts: Option<i16>,
    pub(crate) timeout_ms: Option<i32>,
    /// The database's clock.
    pub(crate) now: DateTime<Utc>,
}

/// The maximum, so that only the slots of the workers limit a new lane.
const DEFAULT_MAX_CONCURRENCY: i32 = *limits::MAX_CONCURRENCY.end();

/// The app with this slug, created with its built-in integration when there is none. Its row stays locked, so that of several processes that start together
/// only one creates what is missing.
pub(crate) async fn lock_app(connection: &mut PgConnection, slug: &str) -> Result<AppId> {
    // An update that changes nothing, and no key: it locks the row without blocking inserts of rows that refer to it.
    let id = sqlx::query_scalar!(
        r#"
        insert into headgate.apps as a (id, name, slug) values ($1, $2, $2)
        on conflict (slug) do update set name = a.name
        returning id as "id: AppId"
        "#,
        AppId::generate().0,
        slug,
    )
    .fetch_one(&mut *connection)
    .await?;
    built_in::ensure(connection, id, IntegrationId::generate(), &[]).await?;
    Ok(id)
}

/// # Errors
/// [`QueueError::NotFound`] when it was deleted.
pub(crate) async fn lock_app_by_id(connection: &mut PgConnection, id: AppId) -> Result<()> {
    sqlx::query_scalar!("select 1 from headgate.apps where id = $1 for no key update", id.0)
        .fetch_optional(connection)
        .await?
        .ok_or(QueueError::NotFound)?;
    Ok(())
}

/// The program's lane of this name in a locked app, created when there is none. Options that are not given stay as they are.
pub(crate) async fn ensure(
    connection: &mut PgConnection,
    app_id: AppId,
    program: &str,
    wanted: &LaneOptions,
) -> Result<IntegrationId> {
    let found = sqlx::query!(
        r#"
        select i.id as "id: IntegrationId", i.state = 'active' as "is_open!", i.max_concurrency, l.limit_keys
        from headgate.integrations i
        join headgate.lanes l on l.integration_id = i.id
        where i.app_id = $1 and i.own_program = $3 and i.own_lane = $2
        for no key update of i
        "#,
        app_id.0,
        &wanted.name,
        program,
    )
    .fetch_optional(&mut *connection)
    .await?;
    let mut lane = match found {
        Some(row) if wanted.max_concurrency.is_none() && wanted.rate_limits.is_none() => return Ok(row.id),
        Some(row) => Lane {
            integration_id: row.id,
            app_id,
            is_external: false,
            is_open: row.is_open,
            max_concurrency: row.max_concurrency,
            jobs_per_request: 1,
            limit_keys: row.limit_keys,
        },
        None => {
            let integration_id = IntegrationId::generate();
            // No secret: nothing is ever signed for it.
            sqlx::query!(
                r#"
                insert into headgate.integrations (id, app_id, name, own_lane, own_program, integration_type, max_concurrency, signing_secret_sealed)
                values ($1, $2, $3, $3, $5, 'external', $4, '')
                "#,
                integration_id.0,
                app_id.0,
                &wanted.name,
                DEFAULT_MAX_CONCURRENCY,
                program,
            )
            .execute(&mut *connection)
            .await?;
            Lane {
                integration_id,
                app_id,
                is_external: false,
                is_open: true,
                max_concurrency: DEFAULT_MAX_CONCURRENCY,
                jobs_per_request: 1,
                limit_keys: Vec::new(),
            }
        }
    };
    lane.max_concurrency = wanted.max_concurrency.unwrap_or(lane.max_concurrency);
    if let Some(limits) = &wanted.rate_limits {
        lane.limit_keys = (0..limits.len()).map(|n| lanes::own_limit_key(lane.integration_id, n)).collect();
        lanes::set_limits(connection, &lane.limit_keys, limits).await?;
    }
    sqlx::query!(
        r#"
        update headgate.integrations
        set max_concurrency = $2, rate_limits = coalesce($3, rate_limits), updated_at = clock_timestamp()
        where id = $1
        "#,
        lane.integration_id.0,
        lane.max_concurrency,
        wanted.rate_limits.as_ref().map(Json) as _,
    )
    .execute(&mut *connection)
    .await?;
    lanes::upsert(connection, &lane).await?;
    Ok(lane.integration_id)
}

/// What a new job needs to know of its lane, which is locked against deletion until the transaction ends.
///
/// # Errors
/// [`QueueError::NotFound`] when it was deleted or disabled: jobs in it would never run.
pub(crate) async fn lock(connection: &mut PgConnection, integration_id: IntegrationId) -> Result<LaneTarget> {
    let row = sqlx::query!(
        r#"
        select app_id as "app_id: AppId", max_attempts, timeout_ms, clock_timestamp() as "now!"
        from headgate.integrations where id = $1 and state <> 'disabled'
        for key share
        "#,
        integration_id.0,
    )
    .fetch_optional(connection)
    .await?
    .ok_or(QueueError::NotFound)?;
    Ok(LaneTarget {
        app_id: row.app_id,
        integration_id,
        max_attempts: row.max_attempts,
        timeout_ms: row.timeout_ms,
        now: row.now,
    })
}
