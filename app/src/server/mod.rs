//! What only the server has: the engine's handles, the actor behind a request, cookies and redirects.

pub mod actor;
pub mod bulk;
pub mod context;
pub mod cookies;
mod errors;
pub mod redirect;
pub mod steer;

pub use context::ConsoleContext;
