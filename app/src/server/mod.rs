//! Code that only the server has: what a request has access to, its actor, cookies and redirects.

pub mod actor;
pub mod bulk;
pub mod context;
pub mod cookies;
mod errors;
pub mod forms;
pub mod integration_forms;
pub mod limit_query;
pub mod redirect;
pub mod saved_views;
pub mod settings_forms;
pub mod steps;

pub use context::ConsoleContext;
