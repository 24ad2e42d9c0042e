//! HTTP to untrusted systems: where a request may go, what is signed, what is read of the answer.

pub mod answer;
pub mod client;
mod dial;
pub(crate) mod exchange;
pub mod failure;
pub mod mask;
mod open_files;
pub mod signature;
pub mod target_guard;
pub mod trace;
