//! Jobs: the list, and one of them.

mod detail;
mod list;
mod subject;

pub use detail::JobDetailPage;
pub use list::JobsPage;
pub(super) use list::origin;
pub(super) use subject::subject;
