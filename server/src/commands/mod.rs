//! The commands, one per file.

pub mod admin;
pub mod demo;
mod error_line;
pub mod export;
pub mod flags;
pub mod import;
pub mod migrate;
pub mod serve;
pub mod worker;

pub(crate) use error_line::print_error;
