//! Records: search for anything, and the timeline of what was found.

mod app_card;
mod list;
mod record_card;
mod search;
mod story;
mod timeline;

pub use list::RecordsPage;
