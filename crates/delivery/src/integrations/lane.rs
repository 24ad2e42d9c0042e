//! Keeping the queue's lane and limits in step with the integration.

use model::{
    integration::{Integration, IntegrationState, IntegrationType},
    rate_limit::RateLimits,
};
use queue::store::lanes::{self, Lane};
use sqlx::PgConnection;

use crate::{
    DeliveryError,
    connector::MOST_ITEMS,
    store::rate_limits::{self, Owner},
};

/// An integration that names a `rate_limit_key` and no limit takes over what the key's others have.
pub(super) async fn agree_on_limits(
    conn: &mut PgConnection,
    integration: &mut Integration,
) -> Result<(), DeliveryError> {
    if let (None, Some(key)) = (&integration.rate_limit, &integration.rate_limit_key) {
        let agreed = rate_limits::of_key(conn, integration.app_id, key, integration.id).await?;
        integration.rate_limit = agreed.and_then(RateLimits::from_vec);
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
        jobs_per_request: if integration.integration_type == IntegrationType::Bundle {
            MOST_ITEMS
        } else {
            1
        },
        limit_keys,
    };
    lanes::upsert(conn, &lane).await?;
    if let Some(key) = &integration.rate_limit_key {
        rate_limits::share(conn, integration.app_id, key, &limits).await?;
    }
    Ok(())
}
