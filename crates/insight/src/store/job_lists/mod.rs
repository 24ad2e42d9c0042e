//! Lists of jobs: what a filter means in SQL, which index is walked for it, and how many there are.

pub(crate) mod arms;
mod count;
pub(crate) mod filter;
mod filter_time;
mod list;
pub(crate) mod walk;

pub use count::{count, list_counted};
pub use list::{list, list_from};
