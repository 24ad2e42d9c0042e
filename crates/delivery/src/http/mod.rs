//! HTTP to untrusted systems: where a request may go, what is signed, what is read of the answer.

pub(crate) mod answer;
pub(crate) mod client;
mod dial;
pub(crate) mod exchange;
pub(crate) mod failure;
pub(crate) mod mask;
mod open_files;
pub(crate) mod signature;
pub(crate) mod target_guard;
pub(crate) mod trace;
