//! A world with one app, a receiver that hands over what it got, and an engine that runs until what is waited for has been recorded.

mod receiver;
mod world;

pub(crate) use receiver::{Received, Receiver, Reply};
pub(crate) use world::{Running, World, faults, object};
