//! Integrations: what is sent, where, and whether it may be.
//!
//! [`Delivery`] is the API: it accepts events into the catalog and makes jobs of them (`catalog`), keeps apps, integrations and their
//! secrets, starts re-syncs, and provides the queue's handler, which computes the difference to what an external system last accepted
//! and sends it (`connector`). It knows no routes and no views.
//!
//! Every function that uses the database can fail because of it ([`DeliveryError::Queue`]); `# Errors` sections name
//! only the other errors. `NotFound` includes what is outside the scope.
#![deny(missing_docs)]

mod apps;
mod batcher;
mod catalog;
mod config;
mod connector;
mod database_time;
mod delivery;
mod error;
mod http;
mod integrations;
mod jobs;
mod lookup;
mod masks;
mod resync;
pub mod secrets;
mod services;
mod store;

pub use config::DeliveryConfig;
pub use delivery::Delivery;
pub use error::DeliveryError;
pub use http::target_guard::TargetGuard;
pub use secrets::{MasterKey, Secret};
pub use store::{deletions, marks::Marks, record_counts::RecordCounts};
