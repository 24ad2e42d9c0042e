//! The process's side: claims jobs, runs them, records what came of them.
//!
//! One [`Engine`] per process: a claimer for all idle slots (`claim_loop`), a task per job (`execute`), a finisher that writes results
//! in batches (`finisher`), a limiter that reserves send times (`limiter`), a heartbeat on a connection of its own (`heartbeat`).
//! What they share is in `shared`.

mod claim_loop;
mod database_clock;
mod engine;
mod execute;
mod finisher;
mod handler;
mod heartbeat;
mod held_job;
mod limiter;
mod listen;
mod peers;
mod recent_sends;
mod shared;
mod slots;
mod tell;

pub use crate::store::jobs::{Failure, How, Response};
pub use engine::{Engine, EngineHandle};
pub use handler::{CompletedJob, Doubt, EndedAs, EndedJob, Handlers, JobHandler, Outcome};
pub use held_job::{HeldJob, SendRight};
pub use peers::Peers;
pub use slots::{AT_ONCE, Slot, Slots};
