//! Dead letters: by cause, one by one, and what to do with them.

mod causes;
mod list;
mod question;

pub use list::DeadLettersPage;
