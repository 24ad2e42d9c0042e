//! The crate as a library: typed jobs, the client, the runner, and the test kit.

mod bulk;
mod enqueuing;
mod handling;
mod kit;
mod lanes;
mod printing;
mod programs;
mod progress;
mod running;
