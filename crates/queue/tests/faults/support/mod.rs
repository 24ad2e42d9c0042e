//! Seeds, plans of jobs, worker processes, and the invariants.

mod children;
mod cluster;
mod database;
mod invariants;
mod plan;
mod record;
mod seed;
#[path = "../../it/support/world.rs"]
#[allow(dead_code, reason = "shared with the other tests, which use the rest")]
mod world;

pub(crate) use children::{Child, Children, WORKER_OPTIONS, WorkerOptions};
pub(crate) use cluster::Cluster;
pub(crate) use database::{Database, eventually};
pub(crate) use invariants::{Excused, Judge};
pub(crate) use plan::{Act, Plan, Shape};
pub(crate) use record::Recorder;
pub(crate) use seed::{rounds, seeded};
pub(crate) use world::World;
