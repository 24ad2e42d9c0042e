//! Reading: one job, wherever its row is.

pub(super) mod get;
pub(super) mod key_neighbours;
pub(super) mod part;
pub mod rows;

pub use get::{find, find_by_any_id, get};
pub use key_neighbours::key_neighbours;
pub use part::{Part, push_scope};
