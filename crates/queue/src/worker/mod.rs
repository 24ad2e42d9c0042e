//! The process's side: claims jobs, runs them, records what came of them.
//!
//! One [`Engine`] per process: a claimer for all idle slots (`claim_loop`), a task per job (`execute`), a finisher that writes results
//! in batches (`finisher`, `writing`, `recording`; `held_results` for those that must wait), a limiter that reserves send times (`limiter`);
//! `schedules` says when what failed is tried again.
//! A thread of its own (`lifeline`) carries the heartbeat, the `watchdog`, and whoever ends attempts whose handlers do not yield
//! (`overdue`). What they share is in `shared`.

mod attempts;
mod breakers;
#[cfg(feature = "testing")]
pub(crate) mod by_hand;
mod claim_loop;
mod clock_skew;
mod database_clock;
mod engine;
mod execute;
mod finisher;
mod handler;
mod heartbeat;
mod held_job;
mod held_results;
mod latency;
mod lease;
mod lifeline;
mod limiter;
mod listen;
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
mod tell;
mod unhandled;
mod watchdog;
mod writing;

pub use crate::store::jobs::{Failure, How, Response};
pub use engine::{Engine, EngineHandle};
pub use handler::{
    AttemptHandler, CompletedJob, DEFAULT_PROGRAM, Doubt, EndedAs, EndedJob, Handlers, Outcome,
};
pub use held_job::{HeldJob, SendRight};
pub use lifeline::{OnStuck, Stuck};
pub use meters::{Rounds, SIZES};
pub use peers::Peers;
pub use progress::{LeaseLost, Progress};
pub use report::{EngineReport, EngineWatch};
pub use slots::{AT_ONCE, Slot, Slots};
pub use unhandled::Unhandled;
