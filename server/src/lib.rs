//! The program: puts the parts together. Routes, views and commands; no SQL and no rules.

pub mod config;
pub mod console_files;
pub mod demo;
pub mod embedded_postgres;
pub mod import;
pub mod shutdown;
pub mod telemetry;
