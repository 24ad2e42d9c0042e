//! Workers: the processes that claim jobs, and the maintenance that their leader runs.

mod list;
mod question;
mod row;
mod services;
mod verdict;

pub use list::WorkersPage;
pub use services::service_sentence;
