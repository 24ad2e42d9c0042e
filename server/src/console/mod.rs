//! Mounting the console: its pages, its server functions, and who may reach them.

mod calls;
mod pages;

pub use calls::calls;
pub(crate) use pages::wants_page;
pub use pages::{not_found, pages};
