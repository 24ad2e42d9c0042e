//! What the pages of the console show: composed by the service floor, rendered by the console.

pub mod choices;
pub mod integration_list;
pub mod integration_page;
pub mod names;
pub mod rate_limits;
