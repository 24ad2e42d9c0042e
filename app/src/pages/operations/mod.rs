//! Bulk operations: who changed many jobs at once, why, and how far it is; they can be stopped and undone.

mod detail;
mod list;
mod steps;

pub use detail::OperationDetailPage;
pub use list::OperationsPage;
