//! Every use case of the API and the console, once: what people and programs read and change, and who may.
//!
//! A use case is one `async fn` of [`Headgate`]. Its first argument is the actor with the permission it needs ([`Allowed`]), so that it cannot be
//! called without a check; what is outside an actor's scope is not found. It composes what `delivery`, `insight`, `access` and `queue` know, masks
//! what the actor may not see, and answers a type of `model`.
//!
//! A change and its line of the audit log are written in one transaction, which is retried when it lost a race against a worker; afterwards the
//! workers are woken. Events and jobs that programs send are accepted without an audit line.
//!
//! Every call that reads or writes may fail because the database is away; `# Errors` sections name only other errors.
#![deny(missing_docs)]

mod allowed;
mod api_keys;
mod apps;
mod audit_log;
mod bulk;
mod change;
mod dead_letter_export;
mod dead_letter_lists;
mod dead_letters;
mod error;
mod events;
mod failures;
mod find;
mod headgate;
mod integration_bulk;
mod integration_control;
mod integration_list;
mod integration_page;
mod integrations;
mod job_list;
mod job_page;
mod jobs;
mod live;
mod masking;
mod names;
mod operations;
mod overview;
mod parts;
mod rate_limits;
mod records;
mod resyncs;
mod retention;
mod reveal;
mod saved_views;
mod stats;
mod status;
mod trail;
mod trimmed_snapshot;
mod undo;
mod users;
mod workers;

pub use allowed::{Allowed, Needs, permission};
pub use dead_letter_export::DeadLetterExport;
pub use error::ServiceError;
pub use headgate::{Headgate, Parts};
pub use live::{LiveFilter, StreamEvent};
pub use parts::Pages;
pub(crate) use parts::read_in_parts;

// What the doors name of the crates below, without depending on them: a `ServiceError` keeps their errors.
pub use access::{Access, AccessError, Client, CredentialWatch, SessionToken};
pub use delivery::{DeliveryError, MasterKey, secrets::Place};
pub use queue::QueueError;
