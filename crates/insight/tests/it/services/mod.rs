//! Statistics, saved views, bulk operations and live numbers, and the services that keep them.

use model::actor::{Actor, ActorKind, Role};
use model::retention::Retentions;
use queue::{EngineConfig, QueueError, maintenance::all_services, store::leader::Term};
use sqlx::PgPool;

mod answers;
mod bulk_pace;
mod bulk_reach;
mod latency;
mod limit_use;
mod live;
mod measures;
mod minutes;
mod operations;
mod recount;
mod retention;
mod snapshot;
mod throughput;
mod undo;
mod views;
#[allow(dead_code, reason = "the engine's tests use all of it")]
#[path = "../../../../queue/tests/it/maintenance/world.rs"]
mod world;

/// An operator of all apps.
fn an_operator() -> Actor {
    Actor { kind: ActorKind::System, name: "ops@example.test".to_owned(), role: Role::Operator, app_id: None }
}

/// Deletes a portion of everything past its retention, the engine's rows and what is seen.
async fn delete_expired(pool: &PgPool, term: Term) -> Result<bool, QueueError> {
    let services = all_services(&EngineConfig::default(), Vec::new());
    let engine = services.iter().find(|service| service.name() == "retention").unwrap();
    let engine = engine.run_once(pool, term).await?;
    Ok(retention::delete_expired(pool, term, Retentions::default()).await? | engine)
}
