//! Creates what is missing of a sample app, and reuses what an earlier run created.

use super::behaviour::System;
use super::catalog::{Range, product, record_id};
use super::external_systems::ExternalSystems;
use super::tenants::{Connection, Tenant};
use delivery::{Delivery, DeliveryError};
use model::actor::Scope;
use model::app::NewApp;
use model::event::{Event, EventType};
use model::id::{AppId, IntegrationId};
use model::integration::Integration;
use model::integration_query::IntegrationFilter;
use model::integration_settings::IntegrationChanges;
use model::page::{MAX_LIMIT, PageRequest};

pub(super) const RECORD_TYPE: &str = "product";

/// A sample app in the database.
#[derive(Clone, Debug)]
pub(super) struct SeededTenant {
    pub(super) app_id: AppId,
    pub(super) integrations: Vec<(IntegrationId, System)>,
}

/// Creates app, integrations and catalog unless they exist.
pub(super) async fn tenant(
    delivery: &Delivery,
    systems: &ExternalSystems,
    tenant: &Tenant,
) -> Result<SeededTenant, DeliveryError> {
    let app_id = app(delivery, tenant).await?;
    let filter = IntegrationFilter { app_id: Some(app_id), state: None };
    let page = PageRequest { limit: MAX_LIMIT, after: None };
    let existing = delivery.integrations(Scope::AllApps, filter, page).await?.items;
    let mut integrations = Vec::new();
    for connection in tenant.integrations {
        let url = systems.url(connection.system);
        let id = match existing.iter().find(|integration| integration.name == connection.name) {
            Some(integration) => point_at(delivery, integration, url).await?,
            None => create(delivery, app_id, connection, url).await?,
        };
        integrations.push((id, connection.system));
    }
    // Unchanged records cost nothing, so the whole catalog is accepted again if the first start was interrupted.
    catalog(delivery, app_id, &tenant.range).await?;
    Ok(SeededTenant { app_id, integrations })
}

async fn app(delivery: &Delivery, tenant: &Tenant) -> Result<AppId, DeliveryError> {
    if let Some(app) = crate::program::find_app(delivery, tenant.slug).await? {
        return Ok(app.id);
    }
    let mut tx = delivery.pool.begin().await?;
    let new = NewApp { name: tenant.name.to_owned(), slug: Some(tenant.slug.to_owned()) };
    let app = delivery.create_app(&mut tx, new).await?;
    tx.commit().await?;
    Ok(app.id)
}

async fn create(
    delivery: &Delivery,
    app_id: AppId,
    connection: &Connection,
    url: String,
) -> Result<IntegrationId, DeliveryError> {
    let mut tx = delivery.pool.begin().await?;
    let created =
        delivery.create_integration(&mut tx, Scope::AllApps, connection.to_new(app_id, url)).await?;
    tx.commit().await?;
    Ok(created.integration.id)
}

/// Updates the URL, because the external systems have another port at each start.
async fn point_at(
    delivery: &Delivery,
    integration: &Integration,
    url: String,
) -> Result<IntegrationId, DeliveryError> {
    if integration.endpoint_url.as_deref() != Some(url.as_str()) {
        let changes = IntegrationChanges { endpoint_url: Some(url), ..IntegrationChanges::default() };
        let mut tx = delivery.pool.begin().await?;
        delivery.update_integration(&mut tx, Scope::AllApps, integration.id, changes).await?;
        tx.commit().await?;
        delivery.wake();
    }
    Ok(integration.id)
}

/// Accepts the products, unless the last one exists already: then the stream may have changed them since.
async fn catalog(delivery: &Delivery, app_id: AppId, range: &Range) -> Result<(), DeliveryError> {
    let last = record_id(range, range.size - 1);
    match delivery.record(Scope::AllApps, app_id, RECORD_TYPE, &last).await {
        Ok(_) => return Ok(()),
        Err(DeliveryError::NotFound { .. }) => {}
        Err(error) => return Err(error),
    }
    let events: Vec<Event> = (0..range.size)
        .map(|n| Event {
            app_id,
            event_type: EventType::Created,
            record_type: RECORD_TYPE.to_owned(),
            record_id: record_id(range, n),
            attributes: product(range, n),
            occurred_at: None,
            correlation_id: Some(format!("first-listing-{}", range.prefix)),
            trace: None,
            id: None,
        })
        .collect();
    delivery.accept_events(Scope::App(app_id), events).await?;
    Ok(())
}
