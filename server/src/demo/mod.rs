//! The demo: sample apps, a stream of changes, and external systems with realistic behaviour. Nothing is simulated in between: events are
//! accepted and requests sent as in production.

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

#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    #[error("no port for the external systems")]
    Listen(#[from] std::io::Error),
    /// Creating apps or integrations failed.
    #[error(transparent)]
    Seed(#[from] DeliveryError),
}

/// A running demo.
#[derive(Debug)]
pub struct Demo {
    tasks: JoinSet<()>,
}

impl Demo {
    /// Creates missing apps and integrations, sets the current port in their URLs, and changes records until `stop`.
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

    /// Waits for its tasks, each of which finishes its current step. Cancel the token first.
    pub async fn ended(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}
