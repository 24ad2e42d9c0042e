//! The limits of an integration's requests: its own, or those of its `rate_limit_key`, which all integrations of the app with that key
//! share.

use model::id::{AppId, IntegrationId};
use model::rate_limit::RateLimit;
use queue::store::lanes;
use sqlx::{PgConnection, types::Json};

use crate::DeliveryError;

/// The most limits one integration may have (`RateLimits::check`).
const MAX_LIMITS: usize = 8;

pub(crate) enum Owner<'a> {
    Integration(IntegrationId),
    Key(AppId, &'a str),
}

impl Owner<'_> {
    /// The keys of the first `n` limits.
    pub(crate) fn keys(&self, n: usize) -> Vec<String> {
        (0..n).map(|index| self.key(index)).collect()
    }

    fn key(&self, index: usize) -> String {
        match self {
            Self::Integration(id) => lanes::own_limit_key(*id, index),
            Self::Key(app, key) => format!("app:{app}:{key}:{index}"),
        }
    }
}

/// Serializes transactions that bring a new key into an app: two concurrent ones would not see each other's limit.
pub(crate) async fn lock_app(conn: &mut PgConnection, app_id: AppId) -> Result<(), DeliveryError> {
    sqlx::query!("select id from headgate.apps where id = $1 for no key update", app_id as AppId)
        .fetch_optional(conn)
        .await?;
    Ok(())
}

/// The limits that other integrations with this key share; none: the key is not in use. Locks one of them, so that the limits do not change.
pub(crate) async fn of_key(
    conn: &mut PgConnection,
    app_id: AppId,
    key: &str,
    except: IntegrationId,
) -> Result<Option<Vec<RateLimit>>, DeliveryError> {
    let limits = sqlx::query_scalar!(
        r#"
        select rate_limits as "limits: Json<Vec<RateLimit>>" from headgate.integrations
        where app_id = $1 and rate_limit_key = $2 and id <> $3
        order by id limit 1
        for no key update
        "#,
        app_id as AppId,
        key,
        except as IntegrationId,
    )
    .fetch_optional(conn)
    .await?;
    Ok(limits.map(|limits| limits.0))
}

/// Locks an integration together with those that share a limit with it now, or will (`joins`), in the order of their ids.
pub(crate) async fn lock_sharing(
    conn: &mut PgConnection,
    id: IntegrationId,
    joins: Option<&str>,
) -> Result<(), DeliveryError> {
    sqlx::query!(
        r#"
        select i.id from headgate.integrations i
        where i.id = $1 or exists (
            select 1 from headgate.integrations me
            where me.id = $1 and me.app_id = i.app_id and i.rate_limit_key in (me.rate_limit_key, $2)
        )
        order by i.id
        for no key update of i
        "#,
        id as IntegrationId,
        joins,
    )
    .fetch_all(conn)
    .await?;
    Ok(())
}

/// Sets the limits given to one integration of a key for all of them.
pub(crate) async fn share(
    conn: &mut PgConnection,
    app_id: AppId,
    key: &str,
    limits: &[RateLimit],
) -> Result<(), DeliveryError> {
    let limit_keys = Owner::Key(app_id, key).keys(limits.len());
    sqlx::query!(
        r#"
        with sharing as materialized (
            select id from headgate.integrations where app_id = $1 and rate_limit_key = $2 order by id for no key update
        ), agreed as (
            update headgate.integrations i set rate_limits = $3, updated_at = clock_timestamp()
            from sharing s where i.id = s.id and i.rate_limits is distinct from $3
        )
        update headgate.lanes l set limit_keys = $4
        from sharing s where l.integration_id = s.id and l.limit_keys is distinct from $4
        "#,
        app_id as AppId,
        key,
        Json(limits) as _,
        &limit_keys,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes limits that no integration uses any more.
pub(crate) async fn delete_unused(
    conn: &mut PgConnection,
    app_id: AppId,
    integration_id: IntegrationId,
    rate_limit_key: Option<&str>,
) -> Result<(), DeliveryError> {
    let mut keys = Owner::Integration(integration_id).keys(MAX_LIMITS);
    if let Some(key) = rate_limit_key {
        keys.extend(Owner::Key(app_id, key).keys(MAX_LIMITS));
    }
    sqlx::query!(
        r#"
        delete from headgate.rate_limits r
        where r.key = any ($1) and not exists (
            select from headgate.integrations i join headgate.lanes l on l.integration_id = i.id
            where i.app_id = $2 and r.key = any (l.limit_keys)
        )
        "#,
        &keys,
        app_id as AppId,
    )
    .execute(conn)
    .await?;
    Ok(())
}
