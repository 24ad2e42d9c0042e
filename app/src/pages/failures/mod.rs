//! Failures by cause: one line per cause, with its remedy, however often it occurs.

mod filters;
mod group;
mod group_words;
mod list;
mod note_form;
mod question;
mod row;

pub use list::FailuresPage;
