//! Jobs: the list, and one of them.

mod cell;
mod chosen;
mod columns;
mod detail;
mod edit;
mod facts;
mod folded;
mod list;
mod masked;
mod progress;
mod question;
mod related;
mod request;
mod row;
mod subject;
mod tick;
mod view_form;
mod views;
mod what_it_sends;

pub use detail::JobDetailPage;
pub use list::JobsPage;
pub(super) use question::origin;
pub(super) use subject::subject;
