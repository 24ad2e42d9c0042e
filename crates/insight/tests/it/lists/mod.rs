//! Lists, searches and groups of jobs.

mod causes;
mod explaining;
mod failing;
mod finding;
mod grid;
mod listing;
mod masked_errors;
mod trail;
