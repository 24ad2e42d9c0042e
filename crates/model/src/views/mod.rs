//! What the pages of the console show: composed by the service floor, rendered by the console.

pub mod audit;
pub mod bulk;
pub mod choices;
pub mod dead_letters;
pub mod failures;
pub mod find;
pub mod integration_list;
pub mod integration_page;
pub mod job_list;
pub mod job_page;
pub mod names;
pub mod operations;
pub mod overview;
pub mod rate_limits;
pub mod resyncs;
pub mod settings;
pub mod trail;
pub mod workers;
