//! Dead letters: by cause, one by one, the bin, and what to do with them.

mod bin;
mod causes;
mod list;
mod question;

pub use list::DeadLettersPage;
