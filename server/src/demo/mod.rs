//! The demo: sample apps, a stream of changes, and external systems that behave as such systems do. Everything runs through the same
//! doors as in earnest: events are accepted, requests go over HTTP, the views show what the database says.

mod behaviour;
mod catalog;
mod external_systems;
mod seed;
mod stream;
mod tenants;

use delivery::{Delivery, DeliveryError};
use external_systems::ExternalSystems;
use seed::SeededTenant;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Why the demo cannot run.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// No port on the loopback.
    #[error("no port for the external systems")]
    Listen(#[from] std::io::Error),
    /// Apps or integrations could not be made.
    #[error(transparent)]
    Seed(#[from] DeliveryError),
}

/// A running demo.
#[derive(Debug)]
pub struct Demo {
    tasks: JoinSet<()>,
}

impl Demo {
    /// Makes apps and integrations that are not there yet, points them at today's ports, and begins to change records until `stop`.
    ///
    /// # Errors
    /// When there is no port, or the database refuses.
    pub async fn start(delivery: &Delivery, stop: &CancellationToken) -> Result<Self, DemoError> {
        let systems = ExternalSystems::start(stop.clone()).await?;
        let mut tasks = JoinSet::new();
        let mut all = Vec::new();
        for tenant in &tenants::TENANTS {
            let seeded = seed::tenant(delivery, &systems, tenant).await?;
            tasks.spawn(stream::changes(delivery.clone(), seeded.app_id, tenant.range, stop.clone()));
            all.push(seeded);
        }
        let integrations: Vec<_> =
            all.iter().flat_map(|seeded: &SeededTenant| seeded.integrations.clone()).collect();
        tasks.spawn(stream::reopen_gone(delivery.clone(), systems, integrations.clone(), stop.clone()));
        tasks.spawn(stream::resyncs(delivery.clone(), integrations, stop.clone()));
        Ok(Self { tasks })
    }

    /// Waits for the end of its tasks, each of which finishes what it is at. Cancel the token first.
    pub async fn ended(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}
