//! What the pages of the console show: composed by the service floor, rendered by the console.

pub mod bulk;
pub mod audit;
pub mod choices;
pub mod find;
pub mod job_list;
pub mod job_page;
pub mod names;
pub mod trail;
pub mod dead_letters;
pub mod failures;
pub mod names;
pub mod operations;
pub mod resyncs;
pub mod overview;
pub mod settings;
pub mod workers;
pub mod integration_list;
pub mod integration_page;
pub mod names;
pub mod rate_limits;
