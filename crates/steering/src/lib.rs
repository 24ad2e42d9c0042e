//! Every change that people and programs make through the API or the console: apps, integrations, jobs, re-syncs, bulk actions, workers.
//!
//! A change and its line of the audit log are written in one transaction, which is retried when it lost a race against a worker; afterwards the
//! workers are woken. Callers check permission first (`model::rules::permission`); what is outside an actor's scope is not found. Events and jobs
//! that programs send are accepted by `delivery`, without an audit line. Users and keys are changed in `access`.
//!
//! Every call that reads or writes may fail because the database is away; `# Errors` sections name only other errors.
#![deny(missing_docs)]

mod apps;
mod change;
mod dead_letters;
mod error;
mod failures;
mod integration_bulk;
mod integrations;
mod jobs;
mod operations;
mod resyncs;
mod reveal;
mod saved_views;
mod undo;
mod workers;

pub use error::SteeringError;
pub use undo::AuditActions;

use delivery::Delivery;
use sqlx::PgPool;

/// Makes the changes. Cheap to clone.
#[derive(Clone)]
pub struct Steering {
    delivery: Delivery,
}

impl Steering {
    /// Uses the pool of `delivery`, not the engine's, whose connections belong to jobs.
    #[must_use]
    pub const fn new(delivery: Delivery) -> Self {
        Self { delivery }
    }

    const fn pool(&self) -> &PgPool {
        &self.delivery.pool
    }
}
