//! Dead letters as people look at them: listed, found, grouped by cause and integration.

mod bin;
mod found;
mod grid;
mod read;

pub use bin::binned;
pub use grid::grid;
pub use read::{get, groups, list, list_without_payloads};
