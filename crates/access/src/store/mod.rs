//! SQL of this crate, one table family a file.

pub(crate) mod activity;
pub(crate) mod api_keys;
pub(crate) mod audit;
pub(crate) mod idempotency;
pub(crate) mod retention;
pub(crate) mod sessions;
pub(crate) mod sign_in_links;
pub(crate) mod throttles;
pub(crate) mod users;
