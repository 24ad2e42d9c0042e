//! What is seen of a deployment: lists and searches of jobs, statistics, failure groups, saved views, bulk operations, limit history and the
//! live numbers. It reads the engine's tables and owns its own; the engine (`queue`) knows nothing of it and runs without it.

pub mod live;
pub mod services;
pub mod store;
