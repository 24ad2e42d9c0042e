//! What people and programs change, by the API or by a button of the console: apps, integrations, jobs, re-syncs, bulk actions, workers.
//!
//! Whichever way it comes, a change is the same here: made in one transaction with its line of the audit log, made again when it lost a race
//! against a worker, and told to the workers afterwards. Whether somebody may make it is asked before (`model::rules::permission`); what is
//! outside an actor's scope is not found. Events and jobs that programs send are the traffic, not the steering: they are accepted by
//! `delivery`, without a line. Users and keys steer themselves (`access`).
#![deny(missing_docs)]

mod amends;
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
mod workers;

pub use amends::Ledger;
pub use error::SteeringError;

use delivery::Delivery;
use sqlx::PgPool;

/// The door. Cheap to clone.
#[derive(Clone)]
pub struct Steering {
    delivery: Delivery,
}

impl Steering {
    /// Changes are made through the pool of `delivery`: not the engine's, whose connections belong to jobs.
    #[must_use]
    pub const fn new(delivery: Delivery) -> Self {
        Self { delivery }
    }

    const fn pool(&self) -> &PgPool {
        &self.delivery.pool
    }
}
