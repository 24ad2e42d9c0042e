//! Code that only the server has: handles of the engine, the actor of a request, cookies and redirects.

pub mod actor;
pub mod bulk;
pub mod context;
pub mod cookies;
mod errors;
pub mod forms;
pub mod integration_forms;
pub mod job_context;
pub mod limit_query;
pub mod masked;
pub mod past;
pub mod redirect;
pub mod saved_views;
pub mod trimmed_snapshot;

pub use context::ConsoleContext;
