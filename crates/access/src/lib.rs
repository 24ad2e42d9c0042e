//! Users, their sessions, API keys, and the audit log.
//!
//! This crate turns a credential into an [`Actor`](model::actor::Actor); what a role may do is decided in `model::rules::permission`. No
//! credential is stored in plain text: passwords are hashed with Argon2id, tokens and keys (256 random bits, so a fast hash is enough) with
//! SHA-256. SQL is in `store`.
//!
//! Every call that reads or writes may fail with [`AccessError::Store`] when the database is away; `# Errors` sections name only other errors.
#![deny(missing_docs)]

mod access;
pub mod activity;
pub mod api_keys;
pub mod audit;
mod client;
mod credential_watch;
mod error;
pub mod idempotency;
mod keyed_call;
pub mod origin;
mod passwords;
mod services;
mod sign_in;
mod store;
mod throttle;
mod token;
pub mod users;

pub use access::Access;
pub use client::Client;
pub use credential_watch::CredentialWatch;
pub use error::AccessError;
pub use keyed_call::KeyedCall;
pub use origin::{Follows, Origin};
pub use passwords::check_password;
pub use services::services;
pub use token::{AdminKey, SessionToken};
