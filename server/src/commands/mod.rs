//! The commands, one per file.

pub mod admin;
pub mod demo;
pub mod export;
pub mod import;
pub mod migrate;
pub mod serve;
pub mod worker;

mod app_name;

pub(crate) use app_name::find_app;
