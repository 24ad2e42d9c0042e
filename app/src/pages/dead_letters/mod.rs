//! Dead letters: by integration and cause, as a list, in the bin, and what to do with them.

mod bin;
mod grid;
mod list;
mod question;

pub use list::DeadLettersPage;
