//! server

pub mod console_files;
pub mod embedded_postgres;
