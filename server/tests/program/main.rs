//! The built program from outside: as people and scripts start it, over its own database, against real receivers.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends there, in its builders too")]

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
