//! Statistics, saved views, bulk operations and live numbers, and the services that keep them.

use model::actor::{Actor, ActorKind, Role};

mod answers;
mod bulk_pace;
mod bulk_reach;
mod latency;
mod limit_use;
mod live;
mod measures;
mod minutes;
mod operations;
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
