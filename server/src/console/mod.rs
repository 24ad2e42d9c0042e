//! Mounts the console's pages and server functions, and checks access to them.

mod calls;
mod pages;

pub use calls::calls;
pub(crate) use pages::wants_page;
pub use pages::{not_found, pages};
