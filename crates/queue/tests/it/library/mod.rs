//! The crate as a library: typed jobs, their client, their runner, and the test kit that proves them.

mod bulk;
mod enqueuing;
mod handling;
mod kit;
mod lanes;
mod printing;
mod programs;
mod progress;
mod running;
