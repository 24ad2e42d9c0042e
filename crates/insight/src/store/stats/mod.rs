//! Gauges, rollups and the snapshot, which pages and metrics show without ever counting jobs.
//!
//! Statements that change jobs append deltas; `queue::store::counts::fold`, [`rollup`] and [`latency`] add them up; readers add what is not folded yet.

pub mod answers;
mod eta;
pub mod latency;
pub mod live_snapshots;
mod measures;
pub mod minutes;
mod names;
pub mod rollup;
mod snapshot;
mod throughput;

pub use eta::{Levels, Pace, eta_seconds};
pub use measures::{CarriedOver, HotTable, LastSeen, Measures, OldTransaction, ServiceState, Sums, measures};
pub use names::names;
pub use snapshot::{SamplerMemory, gauge, integrations, snapshot, snapshot_with};
pub use throughput::{throughput, throughput_until};
