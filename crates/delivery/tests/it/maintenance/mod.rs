//! What the leader does for apps, integrations and records.

use delivery::{Delivery, DeliveryConfig, MasterKey, TargetGuard};
use model::retention::Retentions;
use queue::{Waker, maintenance::Service};
use sqlx::PgPool;
use std::sync::Arc;

mod counters;
mod deletions;
mod retention;
mod tombstones;
#[allow(dead_code, reason = "the engine's tests use all of it")]
#[path = "../../../../queue/tests/it/maintenance/world.rs"]
mod world;

/// The service of this name.
fn service(pool: &PgPool, name: &str) -> Arc<dyn Service> {
    service_with(pool, name, Retentions::default())
}

fn service_with(pool: &PgPool, name: &str, kept: Retentions) -> Arc<dyn Service> {
    let guard = TargetGuard::new(Vec::new(), false);
    let (config, waker) = (DeliveryConfig::default(), Waker::new(pool.clone()));
    let delivery = Delivery::new(pool.clone(), MasterKey::generate(), guard, config, waker).unwrap();
    delivery.services(kept).into_iter().find(|service| service.name() == name).unwrap()
}
