//! Rate limits: their use over time as a heat map, the backlog behind each, and the form that edits them.

mod editor;
mod list;
mod numbers;
mod row;

pub use list::RateLimitsPage;
