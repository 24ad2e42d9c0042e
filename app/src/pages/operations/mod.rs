//! Bulk operations: who changed many jobs at once, why, how far it is; stopped, and taken back.

mod detail;
mod list;
mod steps;

pub use detail::OperationDetailPage;
pub use list::OperationsPage;
