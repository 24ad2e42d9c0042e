//! SQL of what is seen, by table family. Every read of an app's data takes the scope.

mod count_briefly;
pub mod dead_letters;
pub mod explain;
pub mod failures;
pub mod find;
pub mod job_lists;
pub(crate) mod opened;
pub mod operations;
pub mod rate_limits;
pub mod retention;
pub mod saved_views;
pub mod stats;
pub mod storage;
mod stored_name;
pub mod trail;
