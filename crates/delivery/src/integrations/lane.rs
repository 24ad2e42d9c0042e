//! Keeping the queue's lane and limits in step with the integration.

use model::integration::{Integration, IntegrationState, IntegrationType};
use model::rate_limit::RateLimits;
use queue::store::lanes::{self, Lane};
use sqlx::PgConnection;

use crate::DeliveryError;
use crate::connector::MAX_ITEMS;
use crate::store::rate_limits::{self, Owner};

/// A new integration with the `rate_limit_key` of others shares their limit. Another limit is a fault: creating an integration must not
/// change what the others may send.
pub(super) async fn join_key(
    conn: &mut PgConnection,
    integration: &mut Integration,
) -> Result<(), DeliveryError> {
    let Some(key) = &integration.rate_limit_key else { return Ok(()) };
    rate_limits::lock_app(conn, integration.app_id).await?;
    let Some(current) = rate_limits::of_key(conn, integration.app_id, key, integration.id).await? else {
        return Ok(());
    };
    let current = RateLimits::from_vec(current);
    let given = integration.rate_limit.as_ref().map(RateLimits::to_vec);
    if given.is_some() && given != current.as_ref().map(RateLimits::to_vec) {
        let has = current.map_or_else(|| "no limit".to_owned(), |current| current.in_words());
        let detail = format!(
            "is not what the rate_limit_key {key} has: {has}; leave rate_limit out to share that, or change it by PATCH of one of its \
             integrations, which holds for all of them"
        );
        return Err(DeliveryError::fault("/rate_limit", detail));
    }
    integration.rate_limit = current;
    Ok(())
}

/// A changed integration that was given no limit with its `rate_limit_key` takes over the limit of the others with this key.
pub(super) async fn take_over(
    conn: &mut PgConnection,
    integration: &mut Integration,
) -> Result<(), DeliveryError> {
    if let Some(key) = &integration.rate_limit_key
        && let Some(current) = rate_limits::of_key(conn, integration.app_id, key, integration.id).await?
    {
        integration.rate_limit = RateLimits::from_vec(current);
    }
    Ok(())
}

/// Writes the lane and the limits, after the integration's row.
pub(super) async fn write(conn: &mut PgConnection, integration: &Integration) -> Result<(), DeliveryError> {
    let limits = integration.rate_limit.as_ref().map_or_else(Vec::new, RateLimits::to_vec);
    let owner = match &integration.rate_limit_key {
        Some(key) => Owner::Key(integration.app_id, key),
        None => Owner::Integration(integration.id),
    };
    let limit_keys = owner.keys(limits.len());
    lanes::set_limits(conn, &limit_keys, &limits).await?;
    let lane = Lane {
        integration_id: integration.id,
        app_id: integration.app_id,
        is_external: integration.integration_type == IntegrationType::External,
        is_open: integration.state == IntegrationState::Active,
        max_concurrency: integration.max_concurrency,
        jobs_per_request: if integration.integration_type == IntegrationType::Bundle { MAX_ITEMS } else { 1 },
        limit_keys,
    };
    lanes::upsert(conn, &lane).await?;
    if let Some(key) = &integration.rate_limit_key {
        rate_limits::share(conn, integration.app_id, key, &limits).await?;
    }
    Ok(())
}
