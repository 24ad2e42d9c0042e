//! The engine: everything that is true of any job. It knows no HTTP and no routes; what a job does is a [`worker::JobHandler`].
//!
//! [`store`] is the SQL, [`worker`] claims and runs, [`pool`] and [`migrate`] come before both.
#![deny(missing_docs)]

pub mod config;
pub mod error;
pub mod live;
pub mod maintenance;
pub mod migrate;
pub mod pool;
pub mod store;
pub mod wake;
pub mod worker;

pub use config::EngineConfig;
pub use error::QueueError;
pub use migrate::MIGRATOR;
pub use wake::Waker;
