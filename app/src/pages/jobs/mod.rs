//! Jobs: the list, and the page of one.

mod cell;
mod checkbox;
mod columns;
mod detail;
mod edit;
mod facts;
mod folded;
mod list;
mod masked;
mod offered;
mod progress;
mod related;
mod request;
mod row;
mod selection_bar;
mod subject;
mod view_form;
mod views;
mod what_it_sends;

pub use detail::JobDetailPage;
pub use list::JobsPage;
pub(super) use subject::subject;
