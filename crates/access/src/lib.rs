//! Who may do what: people, their sessions, keys of the API, and the log of what they did.
//!
//! What a role may do is a rule of `model::rules::permission`; here a credential becomes an [`Actor`](model::actor::Actor). Nothing that
//! lets somebody in is stored as it was given: passwords are hashed with Argon2id, tokens and keys (256 random bits, so a fast hash is
//! enough) with SHA-256. Reads and writes of one kind of thing stand in `store`.
#![deny(missing_docs)]

mod access;
pub mod activity;
pub mod api_keys;
pub mod audit;
pub mod error;
pub mod idempotency;
pub mod origin;
mod passwords;
pub mod sign_in;
mod stays;
mod store;
mod throttle;
mod token;
pub mod users;

pub use access::Access;
pub use error::AccessError;
pub use origin::{Follows, Origin};
pub use passwords::check_password;
pub use sign_in::Client;
pub use stays::Stay;
pub use token::{AdminKey, SessionToken};
