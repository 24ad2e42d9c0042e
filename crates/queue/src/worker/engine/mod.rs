//! Starts the rooms of one engine, gives each the parts it uses, watches over them, and stops them in order.

#[cfg(feature = "testing")]
pub(crate) mod by_hand;
mod lease_thread;
mod listen;
mod parts;
mod report;
mod start;
mod supervise;

pub use lease_thread::{OnStuck, Stuck};
pub use report::{EngineReport, EngineWatch};
pub use start::{Engine, EngineHandle};
