//! A world with one app, a receiver that returns the requests it got, and an engine that runs until the expected attempts are recorded.

mod receiver;
mod world;

pub(crate) use receiver::{Received, Receiver, Reply};
pub(crate) use world::{Running, World, faults, object};
