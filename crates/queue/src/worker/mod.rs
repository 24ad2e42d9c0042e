//! The engine of a process: claims jobs, runs them, and records their results.
//!
//! One [`Engine`] per process has a claimer for all free slots (`claim_loop`), a task per job (`execute`), a finisher that records results in
//! batches (`finisher`, `writing`, `recording`; `locked_results` for those that must wait; `callbacks` for the handlers' part in the transaction), a
//! limiter that reserves send times (`limiter`), and the waits before retries (`schedules`). A thread of its own (`lease_thread`) runs the heartbeat,
//! the `watchdog`, and the check for attempts whose handlers do not yield (`overdue`). Common state is in `shared`.

mod attempts;
mod breakers;
#[cfg(feature = "testing")]
pub(crate) mod by_hand;
mod callbacks;
mod claim_loop;
mod clock_skew;
mod database_clock;
mod engine;
mod execute;
mod finisher;
mod handler;
mod heartbeat;
mod latency;
mod lease;
mod lease_thread;
mod leased_job;
mod limiter;
mod listen;
mod locked_results;
mod meters;
mod overdue;
mod peers;
mod progress;
mod recent_sends;
mod recording;
mod report;
#[cfg(test)]
mod sample_job;
mod schedules;
mod shared;
mod slots;
mod unhandled;
mod watchdog;
mod writing;

pub use crate::store::jobs::{Completion, Failure, Response};
pub use engine::{Engine, EngineHandle};
pub(crate) use handler::DEFAULT_PROGRAM;
pub use handler::{AttemptHandler, CompletedJob, EndedAs, EndedJob, Handlers, Outcome, Uncertain};
pub use lease_thread::{OnStuck, Stuck};
pub use leased_job::{LeasedJob, SendPermit};
pub use meters::{Rounds, SIZES};
pub use peers::Peers;
pub use progress::{LeaseLost, Progress};
pub use report::{EngineReport, EngineWatch};
pub use slots::{AT_ONCE, Slot, Slots};
pub use unhandled::Unhandled;
