//! Workers: the processes that claim jobs, and what their leader does besides.

mod list;
mod question;
mod row;
mod services;
mod verdict;

pub use list::WorkersPage;
