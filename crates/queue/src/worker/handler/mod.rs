//! What a program writes: the trait of handlers, the job they are given, and their registry.

pub(super) mod attempt_handler;
pub(super) mod leased_job;
pub(super) mod peers;
pub(super) mod progress;
pub(super) mod unhandled;
