//! The built program as people and scripts start it, with its own database and real receivers.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics, also in its builders")]

mod support;

mod catalog;
mod clock;
mod commands;
mod console;
mod embedded;
mod open_files;
mod settings;
mod settings_at_work;
mod start_and_stop;
