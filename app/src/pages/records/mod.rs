//! Records: the trail of whatever somebody types.

mod app_card;
mod list;
mod record_card;
mod search;
mod story;
mod time_line;

pub use list::RecordsPage;
