//! Dead letters: by integration and cause, as a list, in the bin, and what to do with them.

mod bin;
mod grid;
mod list;

pub use list::DeadLettersPage;
