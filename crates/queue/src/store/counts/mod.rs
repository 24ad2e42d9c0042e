//! How many jobs stand where: statements that move jobs append deltas, [`fold`] adds them up, and whoever reads adds what is not folded yet.

pub mod fold;
pub mod latency;
pub mod recount;
pub mod recounts;
mod totals;

pub use recount::{Drift, drift};
pub use totals::{LaneCounts, all_counts, counts};
