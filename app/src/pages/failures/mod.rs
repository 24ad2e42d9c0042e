//! What fails, by cause: however often, one line with its remedy.

mod filters;
mod group;
mod list;
mod look;
mod row;
mod tell;

pub use list::FailuresPage;
