//! Records how attempts ended: in batches, together with what their handlers write, however long the database is away.

pub(super) mod breakers;
pub(super) mod callbacks;
pub(super) mod finisher;
pub(super) mod latency;
pub(super) mod locked_results;
pub(super) mod recording;
pub(super) mod writing;
