//! Dead letters: by integration and cause, one by one, the bin, and what to do with them.

mod bin;
mod grid;
mod list;
mod question;

pub use list::DeadLettersPage;
