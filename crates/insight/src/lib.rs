//! What is seen of a deployment: lists and searches of jobs, statistics, failure groups, saved views, bulk operations, limit history and the
//! live numbers. It reads the engine's tables and owns its own; the engine (`queue`) knows nothing of it and runs without it.
//!
//! Every function that reads or writes can fail because of the database; `# Errors` sections name only other errors.
#![deny(missing_docs)]

pub mod live;
pub mod services;
pub mod store;
