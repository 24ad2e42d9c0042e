//! What only the server has: the engine's handles, the actor behind a request, cookies and redirects.

pub mod actor;
pub mod beside;
pub mod bulk;
pub mod context;
pub mod cookies;
mod errors;
pub mod forms;
pub mod glance;
pub mod integration_list;
pub mod limit_wall;
pub mod masked;
pub mod past;
pub mod redirect;
pub mod saved_views;

pub use context::ConsoleContext;
