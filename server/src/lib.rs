//! The program: routes, views and commands. It puts the other crates together and has no SQL and no rules of its own.
#![recursion_limit = "512"]

pub mod api;
pub mod cli;
pub mod commands;
pub mod config;
pub mod connections;
pub mod console;
pub mod console_files;
pub mod demo;
pub mod embedded_postgres;
mod export_format;
pub mod health;
pub mod import;
mod json_text;
pub mod metrics;
pub mod middleware;
mod program;
pub mod replica;
pub mod router;
pub mod shutdown;
pub mod state;
pub mod telemetry;
